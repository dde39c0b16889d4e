import { hasVisibleText } from "../../core";
import { t } from "../language";
import { ids, type AnswerProps } from "./control";
import { onEnter, useDraft } from "./draft";
import { FieldError } from "./messages";
import { SignaturePad } from "./signature_pad";

interface SignatureProps {
  id: string;
  name: string;
  /** The person's name, as far as it is known: a drawing without a typed name is signed with it. */
  signer?: string | undefined;
  required?: boolean | undefined;
  /** URL of the stored drawing. */
  drawing: string | null;
  describedBy?: string | undefined;
  error?: string | null;
  invalid?: boolean | undefined;
  disabled?: boolean;
  onName(name: string): Promise<void> | void;
  onDraw(drawing: Blob | null): Promise<void> | void;
  onTyping?: ((typing: boolean) => void) | undefined;
  settle?: { current: () => Promise<void> };
}

/** A signature: the typed name, and an optional drawing. */
export function SignatureControl(props: SignatureProps) {
  const { id, name, signer = "", required, drawing, describedBy, error, invalid, disabled, onName, onDraw, onTyping, settle } = props;
  const draft = useDraft(id, name, onName, onTyping);
  const draw = async (picture: Blob | null) => {
    if (picture !== null && !hasVisibleText(draft.text) && hasVisibleText(signer)) {
      draft.input(signer);
      draft.flush();
    }
    await onDraw(picture);
  };
  return (
    <div class="signature">
      <div class="field">
        <label for={id}>
          {t("signature.name")}
          {required && <span class="tag">{t("checklist.required")}</span>}
        </label>
        <input
          id={id}
          class="input"
          type="text"
          dir="auto"
          maxLength={200}
          autocomplete="name"
          aria-describedby={ids(describedBy, error && `${id}-wrong`)}
          aria-required="true"
          aria-invalid={error || invalid ? "true" : undefined}
          value={draft.text}
          disabled={disabled}
          onInput={(event) => draft.input(event.currentTarget.value)}
          onBlur={draft.flush}
          onKeyDown={(event) => onEnter(event, draft.flush)}
        />
        {error && <FieldError id={`${id}-wrong`}>{error}</FieldError>}
      </div>
      <SignaturePad id={`${id}-pad`} drawing={drawing} disabled={disabled ?? false} onDraw={draw} settle={settle} />
    </div>
  );
}

/** The control of a signature step. */
export function StepSignatureControl(props: AnswerProps) {
  const { id, value, photos, describedBy, required, invalid, signer, disabled, onChange, onDraw, onTyping } = props;
  const name = value !== null && typeof value === "object" && "name" in value ? String(value["name"]) : "";
  const drawing = photos.at(-1)?.thumbnailUrl ?? null;
  const change = (next: string) => onChange(next.trim() === "" ? null : { name: next });
  return <SignatureControl {...{ id, name, signer, required, invalid, drawing, describedBy, onDraw, onTyping }} disabled={disabled ?? false} onName={change} />;
}
