/**
 * The language that the page is in now. Whatever draws a text with `t` is drawn again when the language changes.
 */
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

/** Shows the page in the person's language, as far as it is known: their choice on this device, else their browser's. */
export async function startLanguage(): Promise<void> {
  await speak(ownLanguage());
}

/** Changes the language and remembers the choice on this device. */
export async function chooseLanguage(chosen: Language): Promise<void> {
  keepOwnLanguage(chosen);
  await speak(chosen);
}

async function speak(own: Language | null): Promise<void> {
  const locale = chooseLocale(navigator.languages, own);
  try {
    current.value = createTranslator(locale, await loadMessages(languageOf(locale) ?? "en"));
  } catch {
    // Offline and the catalogue not on this device yet: better in the language that is here than not at all.
    return;
  }
  document.documentElement.lang = locale;
  document.documentElement.dir = current.value.direction;
}
