/**
 * Which languages there are, and which one a person gets: the one they chose here before, else the first of their
 * browser's that there is, else English.
 *
 * The locale keeps the browser's region where the language is the same (`ar-EG`, `de-CH`): the words are the
 * language's, the digits and dates are the region's.
 */

import { english } from "./en";
import type { Messages } from "./messages";

/** Each language by its own name, which is how its speakers find it. */
export const LANGUAGES = {
  en: "English",
  de: "Deutsch",
  es: "Español",
  fr: "Français",
  ar: "العربية",
} as const;
export type Language = keyof typeof LANGUAGES;

const PREFERENCE = "checklist.language";

/** English is always there; the others are loaded when they are needed, so that nobody downloads five catalogues. */
export async function loadMessages(language: Language): Promise<Messages> {
  switch (language) {
    case "en":
      return english;
    case "de":
      return (await import("./de")).german;
    case "es":
      return (await import("./es")).spanish;
    case "fr":
      return (await import("./fr")).french;
    case "ar":
      return (await import("./ar")).arabic;
  }
}

/** The locale for a person who chose `own` (null: has not chosen) and whose browser wants `wanted`, best first. */
export function chooseLocale(wanted: readonly string[], own: Language | null): string {
  const fits = (tag: string): boolean => (own === null ? languageOf(tag) !== null : languageOf(tag) === own);
  return wanted.find((tag) => fits(tag) && isLocale(tag)) ?? own ?? "en";
}

/** The language of a locale such as `de-CH`, or null when there is no catalogue for it. */
export function languageOf(locale: string): Language | null {
  const base = locale.toLowerCase().split(/[-_]/, 1)[0] ?? "";
  return Object.hasOwn(LANGUAGES, base) ? (base as Language) : null;
}

export function directionOf(language: Language): "ltr" | "rtl" {
  return language === "ar" ? "rtl" : "ltr";
}

/** What the person chose on this device. A browser that keeps nothing (private mode) has no choice to give. */
export function ownLanguage(storage?: Pick<Storage, "getItem">): Language | null {
  try {
    // Where site data are blocked, `localStorage` itself throws.
    return languageOf((storage ?? localStorage).getItem(PREFERENCE) ?? "");
  } catch {
    return null;
  }
}

export function keepOwnLanguage(language: Language, storage?: Pick<Storage, "setItem">): void {
  try {
    (storage ?? localStorage).setItem(PREFERENCE, language);
  } catch {
    // The language still changes for as long as the page is open.
  }
}

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
