/**
 * Name and email address of an executor, with the service's rules. International domain names are checked by the
 * browser's URL parser, so in rare cases only the service rejects one.
 */

import { MAX_EMAIL, MAX_NAME } from "./bounds";
import { canBeStored, hasVisibleText, lengthOf, strip } from "./text";
import type { Problem } from "./types";

const CONTROL = /\p{Cc}/u;
const INVISIBLE = /[\p{C}\p{Z}]/u;
const ATOM = '[^\\s@.,:;<>()\\[\\]\\\\"]+';
const LOCAL_PART = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`, "u");
const LABEL = /^(?!-)(?!..--)[a-z0-9-]{1,63}(?<!-)$|^xn--[a-z0-9-]+$/;
// Characters that end the host name in a URL, or are decoded in it.
const NO_HOST = /[/?#:\\%@[\]]/;

export function nameProblem(text: string, path = "name"): Problem | null {
  if (!canBeStored(text)) return { path, code: "invalid_text" };
  const name = strip(text);
  if (lengthOf(name) > MAX_NAME) return { path, code: "too_long", params: { count: MAX_NAME } };
  if (!hasVisibleText(name)) return { path, code: "blank" };
  return CONTROL.test(name) ? { path, code: "invalid_text" } : null;
}

export function emailProblem(text: string, path = "email"): Problem | null {
  if (!canBeStored(text)) return { path, code: "invalid_text" };
  const email = strip(text);
  if (lengthOf(email) > MAX_EMAIL) return { path, code: "too_long", params: { count: MAX_EMAIL } };
  return isEmailAddress(email) ? null : { path, code: "invalid_format", params: { wanted: "email" } };
}

function isEmailAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (lengthOf(local) > 64 || !LOCAL_PART.test(local) || INVISIBLE.test(local) || NO_HOST.test(domain)) return false;
  const labels = (hostOf(domain) ?? "").split(".");
  return labels.length >= 2 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
}

function hostOf(domain: string): string | null {
  try {
    return new URL(`https://${domain}`).hostname;
  } catch {
    return null;
  }
}
