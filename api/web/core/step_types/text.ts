/** Step types text, scan, date, time and datetime. */

import { dayAfter, daysBetween, normalDate, normalDateTime, normalTime } from "../dates";
import { canBeStored, hasVisibleText, lengthOf } from "../text";
import type { Step } from "../types";
import { CONTAINMENT, EQUALITY, ORDER, accepted, boundsIn, expecting, refused, wrongType, type Authoring, type ConfigField, type DisplayText, type StepKind } from "./kind";

const MAX_TEXT = 500;
const MAX_LONG_TEXT = 4_000;

export const text: StepKind = {
  validate(step, value) {
    if (typeof value !== "string") return wrongType("text");
    const limit = textLimit(step);
    if (lengthOf(value) > limit) return refused("too_long", { count: limit });
    if (!canBeStored(value)) return refused("invalid_text");
    return step.required && !hasVisibleText(value) ? refused("blank") : accepted(value);
  },
  hasValue: ({ value }) => typeof value === "string" && hasVisibleText(value),
  field: "typed",
  mayBeEmpty: true,
};

export const textAuthoring: Authoring = {
  name: "Text",
  meaning: "A line, or a longer note",
  icon: "pen",
  fields: [
    { kind: "text", name: "placeholder", label: "Shown in the empty field (optional)", placeholder: "", limit: 500 },
    { kind: "flag", name: "multiline", label: "Long text", hint: "Up to 4,000 characters instead of 500." },
  ],
  operators: [...EQUALITY, ...CONTAINMENT, "exists"],
  valueText: (value) => `“${String(value)}”`,
};

export const scanAuthoring: Authoring = {
  ...textAuthoring,
  name: "Scan",
  meaning: "A bar code or QR code",
  icon: "scan",
  fields: [{ kind: "text", name: "placeholder" }],
};

/** Maximum characters of a text or scan step. */
export function textLimit(step: Step): number {
  return step.type === "text" && step.config.multiline ? MAX_LONG_TEXT : MAX_TEXT;
}

function moment(wanted: string, normal: (text: string) => string | null, words: "date" | "time" | "moment"): StepKind {
  return {
    validate(_, value) {
      if (typeof value !== "string") return wrongType(wanted);
      const text = normal(value);
      return text === null ? refused("invalid_format", { wanted }) : accepted(text);
    },
    display: (_, value, format: DisplayText) => (typeof value === "string" ? format[words](value) : null),
    sortKey: (value) => (typeof value === "string" ? normal(value) : typeof value === "number" ? value : null),
    field: "set",
  };
}

export const date: StepKind = {
  ...moment("date", normalDate, "date"),
  isExpected(expected, value, today) {
    const { not_before, not_after } = boundsIn(expected);
    const days = typeof value === "string" ? daysBetween(today, value) : null;
    return days === null || (days >= (not_before ?? -Infinity) && days <= (not_after ?? Infinity));
  },
  expectedText(_, expected, { words, t, today }) {
    const { not_before, not_after } = boundsIn(expected);
    const text = (days: number | null | undefined) => {
      const day = days == null ? null : dayAfter(today, days);
      return day === null ? null : words.date(day);
    };
    const [from, until] = [text(not_before), text(not_after)];
    if (from !== null && until !== null) return t("flag.range", { min: from, max: until });
    if (from !== null) return t("flag.not_before", { date: from });
    return until === null ? "" : t("flag.not_after", { date: until });
  },
};
export const time = moment("time", normalTime, "time");
export const datetime = moment("datetime", normalDateTime, "moment");

/* @__NO_SIDE_EFFECTS__ */
function momentAuthoring(name: string, meaning: string, normal: (text: string) => string | null, compared?: "date" | "time", fields?: readonly ConfigField[]): Authoring {
  return {
    name,
    meaning,
    icon: "clock",
    operators: [...EQUALITY, ...ORDER, "exists"],
    operatorText: { gt: "is after", gte: "is not before", lt: "is before", lte: "is not after" },
    fits: (value) => typeof value === "string" && normal(value) !== null,
    ...(compared && { compared }),
    ...(fields && { fields }),
  };
}

export const dateAuthoring = momentAuthoring("Date", "A day", normalDate, "date", expecting("days"));
export const timeAuthoring = momentAuthoring("Time", "A time of day", normalTime, "time");
export const datetimeAuthoring = momentAuthoring("Date and time", "A moment", normalDateTime);
