import { useMemo, useRef, useState } from "preact/hooks";

import { readNumber } from "../../core";
import { problemText } from "../i18n";
import { t, translator } from "../language";
import type { AnswerProps } from "./control";
import { ids, wiring } from "./control";
import { onEnter, useDraft } from "./draft";

/** A number field with comma or point, and its unit. */
export function NumberControl(props: AnswerProps) {
  const { id, step, value, disabled, onChange, onProblem } = props;
  const { unit, min } = step.config;
  const language = translator.value;
  const group = useMemo(() => groupSign(language.locale), [language.locale]);
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const written = typeof value === "number" ? write(value) : "";

  /** Parses the text: null for empty, an error if it is not a number. */
  const read = (text: string) => {
    if (text.trim() === "") return null;
    const { value, problem } = readNumber(text, group);
    return problem === null ? value : { error: problemText(language, problem) };
  };

  const keep = (text: string) => {
    const meaning = read(text);
    // Incomplete input ("-", "12,") may become a number with the next key, so the error is shown on blur only.
    return typeof meaning === "object" && meaning !== null ? onChange(null) : onChange(meaning);
  };
  const draft = useDraft(id, written, keep, props.onTyping, (text, kept) => {
    const meaning = read(text);
    return typeof meaning === "object" && meaning !== null ? kept === "" : meaning === read(kept);
  });
  const judge = (text: string) => {
    const meaning = read(text);
    const error = typeof meaning === "object" && meaning !== null ? meaning.error : null;
    setWrong(error !== null);
    onProblem(error);
  };
  const finish = () => {
    draft.flush();
    judge(draft.text);
  };
  const toggleSign = () => {
    const text = draft.text.trim();
    draft.input(/^[-\u2212]/.test(text) ? text.slice(1) : `-${text}`);
    input.current?.focus();
  };

  return (
    <div class="number">
      {/* Phones' number pads have no minus key. */}
      {(min == null || min < 0) && (
        <button type="button" class="button number-sign" disabled={disabled} aria-label={t("number.sign")} onClick={toggleSign}>
          <span aria-hidden="true">±</span>
        </button>
      )}
      <input
        ref={input}
        id={id}
        class="input"
        type="text"
        inputMode="decimal"
        enterkeyhint="done"
        autocomplete="off"
        dir="ltr"
        {...wiring({ ...props, describedBy: ids(unit && `${id}-unit`, props.describedBy), invalid: props.invalid || wrong })}
        value={draft.text}
        disabled={disabled}
        onInput={(event) => {
          draft.input(event.currentTarget.value);
          if (wrong) judge(event.currentTarget.value);
        }}
        onBlur={finish}
        onKeyDown={(event) => onEnter(event, finish)}
      />
      {unit && (
        <span class="number-unit" id={`${id}-unit`} dir="auto">
          {unit}
        </span>
      )}
    </div>
  );
}

/** In the locale's decimal notation, without grouping. */
function write(value: number): string {
  return new Intl.NumberFormat(`${translator.value.locale}-u-nu-latn`, {
    useGrouping: false,
    maximumFractionDigits: 10,
  }).format(value);
}

function groupSign(locale: string): string {
  return new Intl.NumberFormat(locale).formatToParts(1_111_111).find((part) => part.type === "group")?.value ?? ",";
}
