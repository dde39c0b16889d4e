/** The message catalogue of the web apps and its translator. */

export {
  chooseLocale,
  directionOf,
  keepOwnLanguage,
  LANGUAGES,
  languageOf,
  loadMessages,
  ownLanguage,
  type Language,
} from "./languages";
export type { MessageKey, Messages, Parameters, PlainKey } from "./messages";
export { problemText } from "./problem_text";
export { createTranslator, type Translate, type Translator } from "./translator";
