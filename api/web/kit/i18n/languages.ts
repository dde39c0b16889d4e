/**
 * The available languages and the choice of one: the one chosen on this device, else the first supported one of the
 * browser, else English.
 *
 * The locale keeps the browser's region if the language is the same (`ar-EG`, `de-CH`): texts depend on the language,
 * digits and dates on the region.
 */

import type { Messages } from "./messages";

/** Each language by its own name. */
export const LANGUAGES = {
  en: "English",
  de: "Deutsch",
  es: "Español",
  fr: "Français",
  ar: "العربية",
} as const;
export type Language = keyof typeof LANGUAGES;

const PREFERENCE = "checklist.language";

/** A person loads one language only. */
export async function loadMessages(language: Language): Promise<Messages> {
  switch (language) {
    case "en":
      return (await import("./en")).english;
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

/** The locale for a stored choice `own` (null: none) and the browser's languages `wanted`, best first. */
export function chooseLocale(wanted: readonly string[], own: Language | null): string {
  const fits = (tag: string): boolean => (own === null ? languageOf(tag) !== null : languageOf(tag) === own);
  return wanted.find((tag) => fits(tag) && isLocale(tag)) ?? own ?? "en";
}

/** The language of a locale such as `de-CH`, or null if there is no catalogue for it. */
export function languageOf(locale: string): Language | null {
  const base = locale.toLowerCase().split(/[-_]/, 1)[0] ?? "";
  return Object.hasOwn(LANGUAGES, base) ? (base as Language) : null;
}

export function directionOf(language: Language): "ltr" | "rtl" {
  return language === "ar" ? "rtl" : "ltr";
}

/** The language chosen on this device; null if the browser stores nothing. */
export function ownLanguage(storage?: Pick<Storage, "getItem">): Language | null {
  try {
    // If site data are blocked, reading `localStorage` throws.
    return languageOf((storage ?? localStorage).getItem(PREFERENCE) ?? "");
  } catch {
    return null;
  }
}

export function keepOwnLanguage(language: Language, storage?: Pick<Storage, "setItem">): void {
  try {
    (storage ?? localStorage).setItem(PREFERENCE, language);
  } catch {
    // The language still changes until the page is closed.
  }
}

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
