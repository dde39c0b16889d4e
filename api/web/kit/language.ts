/** The current language of the page. Components that call `t` are rendered again when it changes. */
import { computed, signal } from "@preact/signals";

import {
  chooseLocale,
  createTranslator,
  keepOwnLanguage,
  languageOf,
  loadMessages,
  ownLanguage,
  type Language,
  type Messages,
  type Translate,
  type Translator,
} from "./i18n";

/** Nothing is rendered before a catalogue is there. */
const current = signal<Translator>(createTranslator("en", {} as Messages));

export const translator = computed(() => current.value);
export const language = computed(() => current.value.language);

export const t: Translate = (key, ...parameters) => current.value.t(key, ...parameters);

/** Selects the person's language: the one chosen on this device, else the browser's; English if its texts do not load. */
export async function startLanguage(): Promise<void> {
  if (!(await useLanguage(ownLanguage()))) useEnglish(await loadMessages("en"));
}

export function useEnglish(english: Messages): void {
  current.value = createTranslator("en", english);
}

/** Changes the language and stores the choice on this device. */
export async function chooseLanguage(chosen: Language): Promise<void> {
  keepOwnLanguage(chosen);
  await useLanguage(chosen);
}

/** Returns false and keeps the current language if the catalogue is not cached and there is no network. */
async function useLanguage(own: Language | null): Promise<boolean> {
  const locale = chooseLocale(navigator.languages, own);
  try {
    current.value = createTranslator(locale, await loadMessages(languageOf(locale) ?? "en"));
  } catch {
    return false;
  }
  document.documentElement.lang = locale;
  document.documentElement.dir = current.value.direction;
  return true;
}
