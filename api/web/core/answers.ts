/**
 * What a step accepts as its answer. `validateValue` gives the normal form that the service stores, or the problem that
 * it would answer with, by the same code; so an answer that is kept offline is not refused hours later.
 */

import { MAX_NAME, optionsOf, ratingBounds, selectionBounds, textLimit } from "./bounds";
import { normalDate, normalDateTime, normalTime } from "./dates";
import { roundedTo } from "./decimals";
import { canBeStored, hasVisibleText, lengthOf, strip } from "./text";
import type { Geo, JsonValue, Problem, ProblemParams, Step } from "./types";

/** The normal form of a value, or why it is refused. */
export type Verdict =
  | { readonly value: JsonValue; readonly problem: null }
  | { readonly value: null; readonly problem: Problem };

export function validateValue(step: Step, value: JsonValue): Verdict {
  switch (step.type) {
    case "instruction":
      return refused("no_answer");
    case "boolean":
      return typeof value === "boolean" ? accepted(value) : wrongType("boolean");
    case "number":
      return number(step, value);
    case "rating":
      return rating(step, value);
    case "choice":
      if (typeof value !== "string") return wrongType("choice");
      return optionsOf(step).some((option) => option.id === value) ? accepted(value) : refused("unknown_option");
    case "multi_choice":
      return selection(step, value);
    case "text":
    case "scan":
      return text(step, value);
    case "photo":
      return value === null ? accepted(null) : wrongType("photo");
    case "signature":
      return signature(value);
    case "date":
      return moment("date", normalDate, value);
    case "time":
      return moment("time", normalTime, value);
    case "datetime":
      return moment("datetime", normalDateTime, value);
  }
}

/** What is wrong with a location; an empty list for null, which means that there is none. */
export function geoProblems(geo: JsonValue | Geo): Problem[] {
  if (geo === null) return [];
  if (typeof geo !== "object" || Array.isArray(geo)) return [{ path: "geo", code: "wrong_type" }];
  const given = geo as Readonly<Record<string, JsonValue | undefined>>;
  return GEO_LIMITS.flatMap(([name, min, max]) => {
    const amount = given[name];
    const path = `geo.${name}`;
    if (amount == null) return name === "accuracy_m" ? [] : [{ path, code: "missing" }];
    if (typeof amount !== "number") return [{ path, code: "wrong_type" }];
    return amount >= min && amount <= max ? [] : [{ path, code: "out_of_range", params: { min, max } }];
  });
}

const GEO_LIMITS = [
  ["lat", -90, 90],
  ["lng", -180, 180],
  ["accuracy_m", 0, Number.MAX_SAFE_INTEGER],
] as const;

function accepted(value: JsonValue): Verdict {
  return { value, problem: null };
}

function refused(code: string, params: ProblemParams = {}, path = "value"): Verdict {
  return { value: null, problem: { path, code, params } };
}

function wrongType(wanted: string, path = "value"): Verdict {
  return refused("wrong_type", { wanted }, path);
}

function number({ config }: Step, value: JsonValue): Verdict {
  if (typeof value !== "number") return wrongType("number");
  const range = { ...(config.min != null && { min: config.min }), ...(config.max != null && { max: config.max }) };
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return refused("out_of_range", range);
  const rounded = config.decimal == null ? value : roundedTo(value, config.decimal);
  if (rounded === null) return refused("too_many_decimals", { count: config.decimal ?? 0 });
  if (rounded < (config.min ?? -Infinity) || rounded > (config.max ?? Infinity)) return refused("out_of_range", range);
  return accepted(rounded + 0); // -0 is 0
}

function rating(step: Step, value: JsonValue): Verdict {
  const bounds = ratingBounds(step);
  if (typeof value !== "number") return wrongType("rating");
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return refused("out_of_range", { ...bounds });
  if (!Number.isInteger(value)) return wrongType("integer");
  return value < bounds.min || value > bounds.max ? refused("out_of_range", { ...bounds }) : accepted(value + 0);
}

function selection(step: Step, value: JsonValue): Verdict {
  if (!Array.isArray(value)) return wrongType("multi_choice");
  const known = optionsOf(step).map((option) => option.id);
  for (const item of value as readonly JsonValue[]) {
    if (typeof item !== "string") return wrongType("multi_choice");
    if (!known.includes(item)) return refused("unknown_option");
  }
  const chosen = new Set<unknown>(value);
  if (chosen.size < value.length) return refused("duplicate_option");
  const { min, max } = selectionBounds(step);
  if (chosen.size < min) return refused("too_few", { count: min });
  if (chosen.size > max) return refused("too_many", { count: max });
  return accepted(known.filter((option) => chosen.has(option)));
}

function text(step: Step, value: JsonValue): Verdict {
  if (typeof value !== "string") return wrongType("text");
  const limit = textLimit(step);
  if (lengthOf(value) > limit) return refused("too_long", { count: limit });
  if (!canBeStored(value)) return refused("invalid_text");
  return step.required && !hasVisibleText(value) ? refused("blank") : accepted(value);
}

function signature(value: JsonValue): Verdict {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return wrongType("signature");
  const path = "value.name";
  const name = (value as Readonly<Record<string, JsonValue | undefined>>)["name"];
  if (name == null) return refused("missing", {}, path);
  if (typeof name !== "string") return wrongType("name", path);
  if (!canBeStored(name)) return refused("invalid_text", {}, path);
  if (!hasVisibleText(name)) return refused("blank", {}, path);
  const stripped = strip(name);
  if (lengthOf(stripped) > MAX_NAME) return refused("too_long", { count: MAX_NAME }, path);
  return accepted({ url: null, name: stripped, signed_at: null });
}

function moment(wanted: string, normal: (text: string) => string | null, value: JsonValue): Verdict {
  if (typeof value !== "string") return wrongType(wanted);
  const text = normal(value);
  return text === null ? refused("invalid_format", { wanted }) : accepted(text);
}
