import { useRef } from "preact/hooks";

import { t } from "../language";
import type { AnswerProps } from "./control";
import { ids, wiring } from "./control";
import { onEnter, useDraft } from "./draft";
import { Icon } from "./icon";

type MomentKind = "date" | "time" | "datetime";

/**
 * The browser's picker, and a button for the current time. A year that is being typed passes through valid dates (2,
 * 20, 202), so the input is a draft, like a text.
 */
export function MomentControl(props: AnswerProps) {
  const { id, now, disabled, onChange, onProblem } = props;
  const kind = props.step.type as MomentKind;
  const value = typeof props.value === "string" ? props.value : "";
  const input = useRef<HTMLInputElement>(null);
  const shown = kind === "datetime" && value !== "" ? localText(new Date(value)) : value;
  // A partially filled field has an empty value, as an empty field has.
  const isPartial = () => input.current?.validity.badInput ?? false;
  const keep = (text: string) => {
    if (text !== "") return onChange(kind === "datetime" ? utcText(text) : text);
    // It may be completed later; checked on blur.
    return isPartial() ? undefined : onChange(null);
  };
  const draft = useDraft(id, shown, keep, props.onTyping);
  const finish = () => {
    draft.flush();
    const partial = isPartial();
    if (partial) void onChange(null);
    onProblem(partial ? t(`problem.${kind}`) : null);
  };
  const choose = (text: string) => {
    draft.input(text);
    draft.flush();
  };
  const zone = kind === "datetime" ? zoneName() : "";
  return (
    <div class="moment">
      <div class="moment-row">
        <input
          ref={input}
          id={id}
          class="input"
          type={kind === "datetime" ? "datetime-local" : kind}
          {...wiring({ ...props, describedBy: ids(zone && `${id}-zone`, props.describedBy) })}
          value={draft.text}
          disabled={disabled}
          max={kind === "date" ? "9999-12-31" : kind === "datetime" ? "9999-12-31T23:59" : undefined}
          onInput={(event) => draft.input(event.currentTarget.value)}
          onBlur={finish}
          onKeyDown={(event) => onEnter(event, finish)}
        />
        <button
          type="button"
          class="button"
          disabled={disabled}
          aria-describedby={props.labelledBy}
          onClick={() => choose(localText(now()).slice(...PARTS[kind]))}
        >
          <Icon name="clock" />
          {t(kind === "date" ? "date.today" : "time.now")}
        </button>
      </div>
      {zone && (
        <p class="hint" id={`${id}-zone`}>
          {t("datetime.zone", { zone })}
        </p>
      )}
    </div>
  );
}

const PARTS: Record<MomentKind, [number, number]> = { date: [0, 10], time: [11, 16], datetime: [0, 16] };

/** `2026-11-21T13:50` in the device's zone. */
function localText(moment: Date): string {
  if (Number.isNaN(moment.getTime())) return "";
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${String(moment.getFullYear()).padStart(4, "0")}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${date}T${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

function utcText(local: string): string {
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? local : moment.toISOString().replace(/\.\d+Z$/, "Z");
}

function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll("_", " ");
}
