import { t } from "../language";
import type { ControlProps } from "./control";
import { ids, wiring } from "./control";
import { Icon } from "./icon";

export type MomentKind = "date" | "time" | "datetime";

interface MomentProps extends ControlProps {
  kind: MomentKind;
  /** `2026-11-21`, `13:50`, or an RFC 3339 timestamp in UTC. */
  value: string | null;
  now(): Date;
  onChange(value: string | null): void;
}

/** The browser's own picker, and a button for the most frequent answer: now. */
export function MomentControl(props: MomentProps) {
  const { id, kind, value, now, disabled, onChange } = props;
  const shown = value === null ? "" : kind === "datetime" ? localText(new Date(value)) : value;
  const change = (text: string) => {
    // A picker that is half filled in gives an empty text: that is no answer yet, and none to take back either.
    if (text === "") return;
    onChange(kind === "datetime" ? utcText(text) : text);
  };
  const zone = kind === "datetime" ? zoneName() : "";
  return (
    <div class="moment">
      <div class="moment-row">
        <input
          id={id}
          class="input"
          type={kind === "datetime" ? "datetime-local" : kind}
          {...wiring({ ...props, describedBy: ids(zone && `${id}-zone`, props.describedBy) })}
          value={shown}
          disabled={disabled}
          max={kind === "date" ? "9999-12-31" : kind === "datetime" ? "9999-12-31T23:59" : undefined}
          onChange={(event) => change(event.currentTarget.value)}
        />
        <button
          type="button"
          class="button"
          disabled={disabled}
          aria-describedby={props.labelledBy}
          onClick={() => change(localText(now()).slice(...PARTS[kind]))}
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
