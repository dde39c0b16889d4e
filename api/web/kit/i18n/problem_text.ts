/**
 * Translates problems: every code of the service has a text. An unknown code gets the general text, never the service's
 * English one.
 */

import type { Problem } from "../../core/types";
import type { PlainKey } from "./messages";
import type { Translator } from "./translator";

/** Codes with a text `problem.{code}` without an amount. */
const CODES: readonly string[] = ["required", "unknown_option", "duplicate_option", "invalid_text", "blank", "identity_required", "geo_required"].concat(
  ["skip_not_allowed", "not_applicable", "number_ambiguous", "out_of_range", "too_large", "note_required"],
);
/** Types and formats with their own text for `wrong_type` and `invalid_format`. */
const WANTED: readonly string[] = ["date", "time", "datetime", "signature", "email"];
const OTHER_TEXTS: Readonly<Record<string, PlainKey>> = {
  boolean: "problem.choose_one",
  choice: "problem.choose_one",
  multi_choice: "problem.choose_one",
  rating: "problem.choose_one",
  integer: "problem.whole_number",
  name: "problem.name_missing",
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
    return t(WANTED.includes(wanted) ? (`problem.${wanted}` as PlainKey) : (OTHER_TEXTS[wanted] ?? "problem.generic"));
  }
  return t(code === "missing" ? "problem.blank" : CODES.includes(code) ? (`problem.${code}` as PlainKey) : "problem.generic");
}
