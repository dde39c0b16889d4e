import { lengthOf, MAX_NOTE } from "../../core";
import { t } from "../language";
import { ids } from "./control";
import { useDraft } from "./draft";

interface NoteProps {
  id: string;
  /** The question of the step, which the note's name repeats for screen readers. */
  question: string;
  note: string;
  required: boolean;
  errorId: string | false;
  onChange(text: string): Promise<void> | void;
  onTyping(typing: boolean): void;
}

/** A few words about an answer. A counter appears near the limit; a longer note is an error and is not cut off. */
export function NoteControl({ id, question, note, required, errorId, onChange, onTyping }: NoteProps) {
  const draft = useDraft(id, note, onChange, onTyping, (left, right) => left.trim() === right.trim());
  const left = MAX_NOTE - lengthOf(draft.text.trim());
  const near = left <= MAX_NOTE / 10;
  return (
    <div class="text note">
      <label for={id} class="note-label">
        {t("flag.note")}
        <span class="vh" dir="auto">
          : {question}
        </span>
        {required && <span class="tag">{t("checklist.required")}</span>}
      </label>
      <textarea
        id={id}
        class="input"
        rows={2}
        dir="auto"
        autocomplete="off"
        aria-required={required}
        aria-invalid={errorId !== false || left < 0}
        aria-describedby={ids(errorId, near && `${id}-left`)}
        value={draft.text}
        onInput={(event) => draft.input(event.currentTarget.value)}
        onBlur={draft.flush}
      />
      {near && (
        <p id={`${id}-left`} class={left < 0 ? "counter is-over" : "counter"}>
          {left < 0 ? t("text.over", { count: -left }) : t("text.left", { count: left })}
        </p>
      )}
    </div>
  );
}
