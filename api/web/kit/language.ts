/** The current language of the page. Components that call `t` are rendered again when it changes. */
import { computed, signal } from "@preact/signals";

import {
  chooseLocale,
  createTranslator,
  english,
  keepOwnLanguage,
  languageOf,
  loadMessages,
  ownLanguage,
  type Language,
  type Translate,
  type Translator,
} from "./i18n";

const current = signal<Translator>(createTranslator("en", english));

export const translator = computed(() => current.value);
export const language = computed(() => current.value.language);

export const t: Translate = (key, ...parameters) => current.value.t(key, ...parameters);

/** Selects the person's language: the one chosen on this device, else the browser's. */
export async function startLanguage(): Promise<void> {
  await useLanguage(ownLanguage());
}

/** Changes the language and stores the choice on this device. */
export async function chooseLanguage(chosen: Language): Promise<void> {
  keepOwnLanguage(chosen);
  await useLanguage(chosen);
}

async function useLanguage(own: Language | null): Promise<void> {
  const locale = chooseLocale(navigator.languages, own);
  try {
    current.value = createTranslator(locale, await loadMessages(languageOf(locale) ?? "en"));
  } catch {
    // Offline and the catalogue is not cached: keep the current language.
    return;
  }
  document.documentElement.lang = locale;
  document.documentElement.dir = current.value.direction;
}
