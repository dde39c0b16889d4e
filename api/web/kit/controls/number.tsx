import { useRef, useState } from "preact/hooks";

import { t, translator } from "../language";
import type { ControlProps } from "./control";
import { ids, wiring } from "./control";
import { onEnter, useDraft } from "./draft";

/** What a text means as a number: null for nothing, an error for what is no number. */
export type ReadNumber = (text: string) => number | null | { error: string };

interface NumberProps extends ControlProps {
  value: number | null;
  unit: string;
  /** Whether the answer may be below zero: phones' number pads have no minus key. */
  signed: boolean;
  read: ReadNumber;
  /** null: the field was emptied, or what it says is no answer. */
  onChange(value: number | null): Promise<void> | void;
  /** What is wrong with the text, told once the person has left the field, and taken back as soon as it is right. */
  onProblem(error: string | null): void;
}

/** A number as people write it, comma or point, with its unit. */
export function NumberControl(props: NumberProps) {
  const { id, value, unit, signed, read, disabled, onChange, onProblem } = props;
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const written = value === null ? "" : write(value);

  const keep = (text: string) => {
    const meaning = read(text);
    // What is not a number yet ("-", "12,") may become one with the next key, so it is told on leaving only.
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
      {signed && (
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

/** As the person would type it: their decimal sign, no grouping. */
function write(value: number): string {
  return new Intl.NumberFormat(`${translator.value.locale}-u-nu-latn`, {
    useGrouping: false,
    maximumFractionDigits: 10,
  }).format(value);
}
