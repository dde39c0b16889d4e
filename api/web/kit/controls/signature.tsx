import { t } from "../language";
import { ids, type AnswerProps } from "./control";
import { onEnter, useDraft } from "./draft";
import { FieldError } from "./messages";
import { SignaturePad } from "./signature_pad";

interface SignatureProps {
  id: string;
  name: string;
  /** URL of the stored drawing. */
  drawing: string | null;
  describedBy?: string | undefined;
  error?: string | null;
  disabled?: boolean;
  onName(name: string): Promise<void> | void;
  onDraw(drawing: Blob | null): Promise<void> | void;
  onTyping?: ((typing: boolean) => void) | undefined;
  settle?: { current: () => Promise<void> };
}

/** A signature: the typed name, and an optional drawing. */
export function SignatureControl({ id, name, drawing, describedBy, error, disabled, onName, onDraw, onTyping, settle }: SignatureProps) {
  const draft = useDraft(id, name, onName, onTyping);
  return (
    <div class="signature">
      <div class="field">
        <label for={id}>{t("signature.name")}</label>
        <input
          id={id}
          class="input"
          type="text"
          dir="auto"
          maxLength={200}
          autocomplete="name"
          aria-describedby={ids(describedBy, error && `${id}-wrong`)}
          aria-required="true"
          aria-invalid={error ? "true" : undefined}
          value={draft.text}
          disabled={disabled}
          onInput={(event) => draft.input(event.currentTarget.value)}
          onBlur={draft.flush}
          onKeyDown={(event) => onEnter(event, draft.flush)}
        />
        {error && <FieldError id={`${id}-wrong`}>{error}</FieldError>}
      </div>
      <SignaturePad id={`${id}-pad`} drawing={drawing} disabled={disabled ?? false} onDraw={onDraw} settle={settle} />
    </div>
  );
}

/** The control of a signature step. */
export function StepSignatureControl({ id, value, photos, describedBy, disabled, onChange, onDraw, onTyping }: AnswerProps) {
  const name = value !== null && typeof value === "object" && "name" in value ? String(value["name"]) : "";
  const drawing = photos.at(-1)?.thumbnailUrl ?? null;
  const change = (next: string) => onChange(next.trim() === "" ? null : { name: next });
  return <SignatureControl {...{ id, name, drawing, describedBy, onDraw, onTyping }} disabled={disabled ?? false} onName={change} />;
}
