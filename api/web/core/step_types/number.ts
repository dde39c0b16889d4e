/** Step types number and rating. */

import { roundedTo } from "../decimals";
import type { Expected, JsonValue, Step } from "../types";
import { EQUALITY, LISTS, ORDER, accepted, boundsIn, expecting, refused, wrongType, type Authoring, type ExpectedFormat, type StepKind } from "./kind";

function isWithin(expected: Expected, value: JsonValue): boolean {
  const { min, max } = boundsIn(expected);
  return typeof value !== "number" || (value >= (min ?? -Infinity) && value <= (max ?? Infinity));
}

function rangeText(expected: Expected, text: (bound: number) => string, { t }: ExpectedFormat): string {
  const { min, max } = boundsIn(expected);
  if (min != null && max != null) return t("flag.range", { min: text(min), max: text(max) });
  if (min != null) return t("number.at_least", { min: text(min) });
  return max == null ? "" : t("number.at_most", { max: text(max) });
}

export const number: StepKind = {
  validate({ config }, value) {
    if (typeof value !== "number") return wrongType("number");
    const range = { ...(config.min != null && { min: config.min }), ...(config.max != null && { max: config.max }) };
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return refused("out_of_range", range);
    const rounded = config.decimal == null ? value : roundedTo(value, config.decimal);
    if (rounded === null) return refused("too_many_decimals", { count: config.decimal ?? 0 });
    if (rounded < (config.min ?? -Infinity) || rounded > (config.max ?? Infinity)) return refused("out_of_range", range);
    return accepted(rounded + 0); // -0 is 0
  },
  display({ config }, value, words) {
    if (typeof value !== "number") return null;
    const number = words.number(value, config.decimal ?? null);
    return config.unit ? `${number} ${config.unit}` : number;
  },
  hints({ config: { min, max, decimal, expected } }, t) {
    const decimals = decimal == null ? [] : [decimal === 0 ? t("number.whole") : t("number.decimals", { count: decimal })];
    // Limits of what can be entered would read as the range that is right; a number outside is refused all the same.
    if (expected != null) return decimals;
    const bounds = [min == null ? "" : t("number.at_least", { min }), max == null ? "" : t("number.at_most", { max })];
    const range = min != null && max != null ? [t("number.between", { min, max })] : bounds;
    return [...range, ...decimals];
  },
  isExpected: isWithin,
  expectedText: (step, expected, format) => rangeText(expected, (bound) => number.display?.(step, bound, format.words) ?? "", format),
  field: "typed",
};

export const numberAuthoring: Authoring = {
  name: "Number",
  meaning: "With a unit and bounds",
  icon: "plus",
  fields: [
    { kind: "number", name: "min", label: "Lowest", none: "any" },
    { kind: "number", name: "max", label: "Highest", none: "any" },
    { kind: "text", name: "unit", label: "Unit", placeholder: "°C", limit: 50 },
    { kind: "number", name: "decimal", label: "Decimals", none: "any", min: 0, max: 10, whole: true },
    ...expecting("range"),
  ],
  operators: [...EQUALITY, ...ORDER, ...LISTS, "exists"],
  compared: "number",
  fits: Number.isFinite,
  valueText: (value, { config }) => `${String(value)}${config?.unit ? ` ${config.unit}` : ""}`,
};

export const rating: StepKind = {
  validate(step, value) {
    const bounds = ratingBounds(step);
    if (typeof value !== "number") return wrongType("rating");
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return refused("out_of_range", { ...bounds });
    if (!Number.isInteger(value)) return wrongType("integer");
    return value < bounds.min || value > bounds.max ? refused("out_of_range", { ...bounds }) : accepted(value + 0);
  },
  display(step, value, words) {
    if (typeof value !== "number") return null;
    const { min, max } = ratingBounds(step);
    const label = value === max ? step.config.high_label : value === min ? step.config.low_label : null;
    return words.rating(value, max, label || null);
  },
  isExpected: isWithin,
  expectedText: (_, expected, format) => rangeText(expected, (bound) => format.words.number(bound, null), format),
};

export const ratingAuthoring: Authoring = {
  name: "Rating",
  meaning: "A grade on a scale",
  icon: "filter",
  fields: [
    { kind: "number", name: "min", label: "Lowest grade", none: "1", min: -100, max: 100, whole: true },
    { kind: "number", name: "max", label: "Highest grade", none: "5", min: -100, max: 100, whole: true },
    { kind: "text", name: "low_label", label: "The lowest means", placeholder: "Poor" },
    { kind: "text", name: "high_label", label: "The highest means", placeholder: "Excellent" },
    ...expecting("grades"),
  ],
  operators: numberAuthoring.operators,
  compared: "integer",
  fits: Number.isInteger,
};

/** Lowest and highest grade of a rating step. */
export function ratingBounds(step: Step): { readonly min: number; readonly max: number } {
  return { min: step.config.min ?? 1, max: step.config.max ?? 5 };
}
