import { textLimit } from "../../core";
import { t } from "../language";
import type { AnswerProps } from "./control";
import { ids, wiring } from "./control";
import { onEnter, useDraft } from "./draft";

/** One line or several. A counter appears near the limit; longer text is an error and is not cut off. */
export function TextControl(props: AnswerProps) {
  const { id, step, value, disabled, onChange } = props;
  const { multiline, placeholder } = step.config;
  const draft = useDraft(id, typeof value === "string" ? value : "", onChange, props.onTyping);
  const limit = textLimit(step);
  // Counts code points, as the service does.
  const left = limit - [...draft.text].length;
  const near = left <= Math.max(20, limit / 10);
  const attributes = {
    id,
    class: "input",
    autocomplete: "off",
    placeholder: placeholder ?? "",
    disabled,
    ...wiring({ ...props, describedBy: ids(props.describedBy, near && `${id}-left`), invalid: props.invalid || left < 0 }),
    value: draft.text,
    onBlur: draft.flush,
  };
  return (
    <div class="text">
      {multiline ? (
        <textarea {...attributes} rows={4} dir="auto" onInput={(event) => draft.input(event.currentTarget.value)} />
      ) : (
        <input
          {...attributes}
          type="text"
          dir="auto"
          enterkeyhint="done"
          onInput={(event) => draft.input(event.currentTarget.value)}
          onKeyDown={(event) => onEnter(event, draft.flush)}
        />
      )}
      {near && (
        <p id={`${id}-left`} class={left < 0 ? "counter is-over" : "counter"}>
          {left < 0 ? t("text.over", { count: -left }) : t("text.left", { count: left })}
        </p>
      )}
    </div>
  );
}
