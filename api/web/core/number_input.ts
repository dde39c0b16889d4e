/**
 * Parses numbers as people type them: `3,5`, `3.5`, `٣٫٥`, `1 234.5`. Comma and point have opposite meanings in
 * different locales, so an ambiguous text is an error and not guessed.
 */

import type { Problem } from "./types";

export type ReadNumber =
  | { readonly value: number; readonly problem: null }
  | { readonly value: null; readonly problem: Problem };

// The zero digits of Arabic, Persian and Indic scripts.
const ZEROS = [0x0660, 0x06f0, 0x0966];
const NATIVE_DIGIT = /[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f]/g;
const NO_MEANING = /[\s'’\u066c\u200e\u200f\u061c]/g;
const GROUPED = /^\d{1,3}(?:[.,]\d{3})+$/;

/** `group` is the thousands separator of the locale (`,` in English, `.` in German). */
export function readNumber(text: string, group: string): ReadNumber {
  const plain = text
    .replace(NATIVE_DIGIT, digitOf)
    .replace(NO_MEANING, "")
    .replace(/\u066b/g, ".")
    .replace(/\u2212/g, "-");
  const unsigned = plain.replace(/^[+-]/, "");
  const separators = unsigned.match(/[.,]/g) ?? [];
  const ambiguous = { value: null, problem: { path: "value", code: "number_ambiguous" } } as const;
  if (separators.length > 1) return GROUPED.test(unsigned.replace(/[.,]\d*$/, "")) || GROUPED.test(unsigned) ? ambiguous : notANumber();
  if (separators[0] === group && GROUPED.test(unsigned) && !unsigned.startsWith("0")) return ambiguous;
  if (!/^(?:\d+[.,]?\d*|[.,]\d+)$/.test(unsigned)) return notANumber();
  return { value: Number(plain.replace(",", ".")) + 0, problem: null };
}

function digitOf(digit: string): string {
  const code = digit.charCodeAt(0);
  return String(code - (ZEROS.findLast((zero) => zero <= code) ?? 0));
}

function notANumber(): ReadNumber {
  return { value: null, problem: { path: "value", code: "wrong_type", params: { wanted: "number" } } };
}
