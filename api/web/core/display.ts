/** How an answer reads: labels instead of ids, numbers with their unit, dates as the person writes them. */

import { optionsOf, ratingBounds } from "./bounds";
import type { JsonValue, Step } from "./types";

/** What depends on the language. */
export interface DisplayWords {
  readonly yes: string;
  readonly no: string;
  readonly none: string;
  /** `decimals` null: as many as the number has. */
  readonly number: (value: number, decimals: number | null) => string;
  readonly rating: (value: number, max: number, label: string | null) => string;
  readonly list: (items: readonly string[]) => string;
  readonly date: (text: string) => string;
  readonly time: (text: string) => string;
  readonly moment: (text: string) => string;
  readonly signedBy: (name: string) => string;
}

/** The answer as a person would read it; empty for null. */
export function displayValue(step: Step, value: JsonValue, words: DisplayWords): string {
  if (value === null) return "";
  const { config, type } = step;
  if (type === "boolean" && typeof value === "boolean") {
    return value ? config.true_label || words.yes : config.false_label || words.no;
  }
  if (type === "number" && typeof value === "number") {
    const number = words.number(value, config.decimal ?? null);
    return config.unit ? `${number} ${config.unit}` : number;
  }
  if (type === "rating" && typeof value === "number") {
    const { min, max } = ratingBounds(step);
    const label = value === max ? config.high_label : value === min ? config.low_label : null;
    return words.rating(value, max, label || null);
  }
  if (type === "choice" && typeof value === "string") return labelOf(step, value);
  if (type === "multi_choice" && Array.isArray(value)) {
    const labels = value.map((item) => labelOf(step, String(item)));
    return labels.length > 0 ? words.list(labels) : words.none;
  }
  if (type === "signature" && typeof value === "object" && "name" in value) return words.signedBy(String(value.name));
  if (typeof value !== "string") return String(value);
  if (type === "date") return words.date(value);
  if (type === "time") return words.time(value);
  return type === "datetime" ? words.moment(value) : value;
}

function labelOf(step: Step, id: string): string {
  return optionsOf(step).find((option) => option.id === id)?.label ?? id;
}
