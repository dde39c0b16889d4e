/**
 * What to say about a problem: every code of the service has a text in the person's language. A code that this
 * version does not know gets the general text, never the service's English one.
 */

import type { Problem } from "../../core/types";
import type { PlainKey } from "./messages";
import type { Translator } from "./translator";

const TEXTS: Readonly<Record<string, PlainKey>> = {
  required: "problem.required",
  unknown_option: "problem.unknown_option",
  duplicate_option: "problem.duplicate_option",
  invalid_text: "problem.invalid_text",
  blank: "problem.blank",
  missing: "problem.blank",
  identity_required: "problem.identity_required",
  geo_required: "problem.geo_required",
  skip_not_allowed: "problem.skip_not_allowed",
  not_applicable: "problem.not_applicable",
  number_ambiguous: "problem.number_ambiguous",
  out_of_range: "problem.out_of_range",
  too_large: "problem.too_large",
};

/** Texts of `wrong_type` and `invalid_format`, by what the step or field takes. */
const WANTED: Readonly<Record<string, PlainKey>> = {
  boolean: "problem.choose_one",
  choice: "problem.choose_one",
  multi_choice: "problem.choose_one",
  rating: "problem.choose_one",
  integer: "problem.whole_number",
  date: "problem.date",
  time: "problem.time",
  datetime: "problem.datetime",
  signature: "problem.signature",
  name: "problem.name_missing",
  email: "problem.email",
};

const PHOTO_TEXTS: Readonly<Record<string, PlainKey>> = {
  not_an_image: "problem.photo_not_an_image",
  unsupported_format: "problem.photo_unsupported",
  truncated: "problem.photo_broken",
  damaged: "problem.photo_broken",
  too_many_pixels: "problem.photo_too_large",
  too_large: "problem.photo_too_large",
  too_much_memory: "problem.photo_too_large",
  too_slow: "problem.photo_not_read",
  too_many: "problem.photos_full",
  photos_not_taken: "problem.photos_full",
  lost_on_device: "problem.photo_lost",
};

export function problemText({ t, number }: Translator, problem: Problem): string {
  const { code, path, params = {} } = problem;
  const amount = (name: string): number | null => (typeof params[name] === "number" ? params[name] : null);
  const count = amount("count");
  if (path === "photo" || path.startsWith("photo.") || path === "photos") {
    if (code === "too_few" && count !== null) return t("problem.photos_missing", { count });
    if (code === "too_many" && count !== null) return t("problem.photos_too_many", { count });
    return t(PHOTO_TEXTS[code] ?? "problem.photo_not_read");
  }
  if ((path === "geo" || path.startsWith("geo.")) && code !== "geo_required") return t("problem.geo");
  if (path === "signature") return t("problem.signature");
  if (path.endsWith("name") && (code === "missing" || code === "blank")) return t("problem.name_missing");
  if (path === "email" && code === "invalid_format") return t("problem.email");
  const [min, max] = [amount("min"), amount("max")];
  if (code === "out_of_range" && min !== null && max !== null) return t("problem.between", { min, max });
  if (code === "out_of_range" && min !== null) return t("problem.at_least", { min });
  if (code === "out_of_range" && max !== null) return t("problem.at_most", { max });
  if (code === "too_many_decimals" && count === 0) return t("problem.whole_number");
  if (count !== null) {
    if (code === "too_many_decimals") return t("problem.too_many_decimals", { count });
    if (code === "too_few") return t("problem.too_few", { count });
    if (code === "too_many") return t("problem.too_many", { count });
    if (code === "too_long") return t("problem.too_long", { count });
  }
  if (code === "wrong_type" || code === "invalid_format") {
    const wanted = String(params["wanted"] ?? "");
    if (wanted === "number") return t("problem.number", { example: number(12.5) });
    return t(WANTED[wanted] ?? "problem.generic");
  }
  return t(TEXTS[code] ?? "problem.generic");
}
