/** Timestamps: local or relative; UTC on hover and on focus. */
import { createContext } from "preact";
import { useContext, useId } from "preact/hooks";

import { dateOf, daysBetween, localTimestamp } from "../../core";
import { now } from "../clock";

/** In a table, a timestamp is no tab stop: there would be one per row. */
export const InTable = createContext(false);

const LOCAL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const SECOND = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [
  ["hour", 3_600],
  ["minute", 60],
] as const;
const AS_A_DATE_AFTER_S = 7 * 86_400;

interface TimeProps {
  /** ISO 8601; null shows `none`. */
  at: string | null | undefined;
  /** `relative` ("3 minutes ago"; after a week the date), `local` (date and time), `second` or `day`. */
  as?: "relative" | "local" | "second" | "day";
  none?: string;
}

export function Time({ at, as = "relative", none = "–" }: TimeProps) {
  const inTable = useContext(InTable);
  const id = useId();
  const moment = at ? new Date(at) : null;
  if (moment === null || Number.isNaN(moment.getTime())) return <span class="quiet">{none}</span>;
  const exact = `${EXACT.format(moment)} · ${utc(moment)}`;
  const text = as === "local" ? LOCAL.format(moment) : as === "second" ? SECOND.format(moment) : as === "day" ? DAY.format(moment) : relative(moment);
  if (inTable) {
    return (
      <time class="time" dateTime={moment.toISOString()} title={exact}>
        {text}
      </time>
    );
  }
  return (
    <span class="time-with-tip">
      <time class="time" dateTime={moment.toISOString()} title={exact} tabIndex={0} aria-describedby={id}>
        {text}
      </time>
      <span class="tip" role="tooltip" id={id}>
        {exact}
      </span>
    </span>
  );
}

/**
 * A last use, which the service stores at most once an hour: within that hour, it is not known when the last one was.
 */
export function LastUse({ at }: { at: string }) {
  return now.value - Date.parse(at) < STORED_EVERY_MS ? <span title={`Stored ${utc(new Date(at))}`}>within the last hour</span> : <Time at={at} />;
}

const STORED_EVERY_MS = 3_600_000;

/** `21 Nov 2026, 14:03`, in the person's time zone. */
export function localTime(at: string): string {
  return LOCAL.format(new Date(at));
}

/** `21 Nov 2026`, in the person's time zone. */
export function localDay(at: string): string {
  return DAY.format(new Date(at));
}

/** `2026-11-21 13:03:22 UTC` */
export function utc(moment: Date): string {
  return `${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function relative(moment: Date): string {
  const seconds = (moment.getTime() - now.value) / 1000;
  const away = Math.abs(seconds);
  if (away > AS_A_DATE_AFTER_S) return LOCAL.format(moment);
  // Days of the calendar: what is 40 hours away may be tomorrow or the day after.
  if (away >= 86_400) return RELATIVE.format(daysBetween(dateOf(localTimestamp(new Date(now.value))), dateOf(localTimestamp(moment))) ?? 0, "day");
  for (const [unit, size] of UNITS) if (away >= size) return RELATIVE.format(Math.trunc(seconds / size), unit);
  return seconds > 15 ? "in less than a minute" : away < 15 ? "just now" : "less than a minute ago";
}

/** `1.2 s`, `340 ms`, `2 min 5 s`, `3 h 20 min` */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
