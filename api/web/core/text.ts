/** Checks of text with Python's rules instead of JavaScript's, as in the service. */

const VISIBLE = /[^\p{Z}\p{C}]/u;
// With the u flag, \p{Cs} matches unpaired surrogates only.
const CANNOT_BE_STORED = /[\0\p{Cs}]/u;
// Python's whitespace: unlike trim(), with U+001C to U+001F and U+0085, and without U+FEFF.
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const SPACE_AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "g");

/** Whether the text has a visible character: spaces, controls and zero-width characters do not count. */
export function hasVisibleText(text: string): boolean {
  return VISIBLE.test(text);
}

export function canBeStored(text: string): boolean {
  return !CANNOT_BE_STORED.test(text);
}

/** Length in Unicode code points: an emoji outside the basic plane counts as one, where `length` returns two. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

export function strip(text: string): string {
  return text.replace(SPACE_AROUND, "");
}
