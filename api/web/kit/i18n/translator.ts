/**
 * Texts, numbers and dates in one language. A translator is immutable.
 *
 * Names and labels are inserted unchanged. A text of the other direction is isolated (Unicode FSI and PDI), so that an
 * Arabic name does not reorder an English sentence.
 */

import { directionOf, languageOf, type Language } from "./languages";
import type { Message, MessageKey, Messages, Parameters } from "./messages";

type Arguments<Key extends MessageKey> = keyof Parameters<Key> extends never ? [] : [Parameters<Key>];
/** The text of a key with its parameters. */
export type Translate = <Key extends MessageKey>(key: Key, ...parameters: Arguments<Key>) => string;

export interface Translator {
  readonly language: Language;
  readonly locale: string;
  readonly direction: "ltr" | "rtl";
  readonly t: Translate;
  /** `decimals` sets the number of decimals; null keeps those of the number. */
  readonly number: (value: number, decimals?: number | null) => string;
  /** The thousands separator, for `readNumber` of the core. */
  readonly groupSeparator: string;
  /** 0.25 as `25%`. */
  readonly percent: (share: number) => string;
  readonly list: (items: readonly string[]) => string;
  /** `2026-11-21` as a date; any other text is returned unchanged. */
  readonly date: (text: string) => string;
  /** `13:50` or `13:50:30` as a time of day. */
  readonly time: (text: string) => string;
  /** An RFC 3339 timestamp in the device's time zone. */
  readonly moment: (text: string) => string;
}

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const LETTER = /\p{L}/u;
const WESTERN_DIGITS: ReadonlySet<Language> = new Set(["en", "de", "es", "fr"]);
const SMALL = /^-?\d{1,3}$/;

export function createTranslator(locale: string, messages: Messages): Translator {
  const language = languageOf(locale) ?? "en";
  const direction = directionOf(language);
  const plurals = onFirstUse(() => new Intl.PluralRules(language));
  const numbers = new Map<string, Intl.NumberFormat>();

  function number(value: number, decimals: number | null = null): string {
    // Counts and bounds are frequent, and the first number format takes a slow phone a tenth of a second.
    if (decimals === null && WESTERN_DIGITS.has(language) && SMALL.test(String(value))) return String(value);
    const key = String(decimals);
    let format = numbers.get(key);
    if (format === undefined) {
      const digits = { minimumFractionDigits: decimals ?? 0, maximumFractionDigits: decimals ?? 20 };
      format = new Intl.NumberFormat(locale, digits);
      numbers.set(key, format);
    }
    return format.format(value);
  }

  const isolated = (text: string): string => (runsAgainst(text, direction) ? `\u2068${text}\u2069` : text);

  const t: Translate = (key, ...given) => {
    const message: Message = messages[key];
    const parameters: Readonly<Record<string, string | number>> = given[0] ?? {};
    return textOf(message, parameters["count"], plurals).replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = parameters[name] ?? "";
      return typeof value === "number" ? number(value) : isolated(value);
    });
  };

  const utc = { timeZone: "UTC" } as const;
  const date = writer(locale, { dateStyle: "long", ...utc });
  const time = writer(locale, { timeStyle: "short", ...utc });
  const timeWithSeconds = writer(locale, { timeStyle: "medium", ...utc });
  const moment = writer(locale, { dateStyle: "medium", timeStyle: "short" });
  const percents = onFirstUse(() => new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 }));
  const groups = onFirstUse(() => new Intl.NumberFormat(locale).formatToParts(1_234_567).find(({ type }) => type === "group")?.value ?? ",");
  const lists = onFirstUse(() => new Intl.ListFormat(locale, { style: "long", type: "conjunction" }));
  return {
    language,
    locale,
    direction,
    t,
    number,
    get groupSeparator() {
      return groups();
    },
    percent: (share) => percents().format(share),
    list: (items) => lists().format(items.map(isolated)),
    date: (text) => date(`${text}T00:00:00Z`, text),
    time: (text) => (text.length > 5 ? timeWithSeconds : time)(`2000-01-01T${text}Z`, text),
    moment: (text) => moment(text, text),
  };
}

function textOf(message: Message, count: string | number | undefined, plurals: () => Intl.PluralRules): string {
  if (typeof message === "string") return message;
  return (typeof count === "number" ? message[plurals().select(count)] : undefined) ?? message.other;
}

/** Whether the first letter of `text` has the other direction than the sentence. */
function runsAgainst(text: string, direction: "ltr" | "rtl"): boolean {
  const letter = LETTER.exec(text)?.[0];
  return letter !== undefined && RIGHT_TO_LEFT.test(letter) !== (direction === "rtl");
}

/** Intl formats are slow to create, so each is created at its first use. */
function onFirstUse<Format>(make: () => Format): () => Format {
  let format: Format | undefined;
  return () => (format ??= make());
}

function writer(locale: string, options: Intl.DateTimeFormatOptions): (iso: string, otherwise: string) => string {
  const format = onFirstUse(() => new Intl.DateTimeFormat(locale, options));
  return (iso, otherwise) => {
    const moment = new Date(iso);
    if (Number.isNaN(moment.getTime())) return otherwise;
    return format().format(moment);
  };
}
