/** The catalogues are complete, use the same parameters as English, and follow the conventions of their languages. */

import { describe, expect, it } from "vitest";

import { english } from "./en";
import { LANGUAGES, loadMessages, type Language } from "./languages";
import type { Message, MessageKey, Messages } from "./messages";

const languages = Object.keys(LANGUAGES) as Language[];
const keys = Object.keys(english) as MessageKey[];
const catalogues: Readonly<Record<string, Messages>> = Object.fromEntries(
  await Promise.all(languages.map(async (language) => [language, await loadMessages(language)] as const)),
);

function messagesOf(language: Language): Messages {
  const messages = catalogues[language];
  if (messages === undefined) throw new Error(`no catalogue of ${language}`);
  return messages;
}

function textsOf(message: Message): string[] {
  return typeof message === "string" ? [message] : Object.values<string>(message as Readonly<Record<string, string>>);
}

function parametersOf(message: Message): string[] {
  const names = textsOf(message).flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""));
  return [...new Set(names)].sort();
}

/** The plural forms for whole numbers; special forms for millions are not needed. */
function formsOf(language: Language): string[] {
  const rules = new Intl.PluralRules(language);
  return [...new Set(Array.from({ length: 1001 }, (_, count) => rules.select(count)))].sort();
}

describe.each(languages)("the catalogue of %s", (language) => {
  const messages = messagesOf(language);

  it("has every text, in the order of English, and no other", () => {
    expect(Object.keys(messages)).toEqual(keys);
  });

  it("has the parameters of English in every text", () => {
    for (const key of keys) {
      const [ours, theirs]: [Message, Message] = [messages[key], english[key]];
      expect(typeof ours, key).toBe(typeof theirs);
      if (typeof ours === "string" || typeof theirs === "string") {
        expect(parametersOf(ours), key).toEqual(parametersOf(theirs));
        continue;
      }
      // The forms of one and two may spell the number out; `other` has all parameters of English.
      expect(parametersOf(ours.other), key).toEqual(expect.arrayContaining(parametersOf(theirs.other)));
      expect([...parametersOf(theirs), "count"], key).toEqual(expect.arrayContaining(parametersOf(ours)));
    }
  });

  it("has exactly the plural forms of the language", () => {
    for (const key of keys) {
      const message: Message = messages[key];
      if (typeof message !== "string") expect(Object.keys(message).sort(), key).toEqual(formsOf(language));
    }
  });

  it("has no text that is empty, spaced by accident, or set with a typewriter's quotes and dots", () => {
    for (const key of keys) {
      for (const text of textsOf(messages[key])) {
        expect(text, key).toMatch(/^\S(.*\S)?$/s);
        expect(text, key).not.toMatch(/ {2}|\.\.\.|["']|[<>]/);
      }
    }
  });
});

describe("the catalogue of English", () => {
  const sources = import.meta.glob<string>(["../../{core,executor,kit}/**/*.{ts,tsx}", "!../**/i18n/??.ts", "!../../**/*.test.ts"], {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const code = Object.values(sources).join("\n");
  // Keys are literals, or templates such as `sync.${state}_text`.
  const made = [...code.matchAll(/`([a-z_]+\.[a-z_.]*)\$\{[^}]+\}([a-z_]*)`/g)].map(
    ([, start = "", end = ""]) => new RegExp(`^${start.replaceAll(".", "\\.")}[a-z_]+${end}$`),
  );

  it("has no unused text", () => {
    const unused = keys.filter((key) => !code.includes(`"${key}"`) && !made.some((form) => form.test(key)));
    expect(unused).toEqual([]);
  });
});

describe("a translation", () => {
  // Texts that may equal the English ones.
  const SAME: Readonly<Record<string, readonly MessageKey[]>> = {
    de: ["sync.offline"],
    es: ["app.no"],
    fr: ["app.menu", "choice.found", "photo.have", "photo.name", "signature.title", "done.photos"],
    ar: [],
  };

  it.each(languages.filter((language) => language !== "en"))("into %s leaves nothing in English", (language) => {
    const messages = messagesOf(language);
    const left = keys.filter((key) => /[a-z]/.test(textsOf(english[key]).join("").replace(/\{\w+\}/g, "")));
    const untranslated = left.filter((key) => JSON.stringify(messages[key]) === JSON.stringify(english[key]));
    expect(new Set(untranslated)).toEqual(new Set(SAME[language]));
  });

  it("into Arabic has only those Latin letters that have no others", () => {
    for (const key of keys) {
      for (const text of textsOf(messagesOf("ar")[key])) {
        const rest = text.replace(/\{\w+\}|JPEG|PDF|PNG|WebP|HEIC|name@example\.com/g, "");
        expect(rest, key).not.toMatch(/\p{Script=Latin}/u);
        expect(rest, key).not.toMatch(/[,;?]/);
      }
    }
  });

  it("into French never lets a line begin with a punctuation mark", () => {
    for (const key of keys) {
      for (const text of textsOf(messagesOf("fr")[key])) expect(text, key).not.toMatch(/ [:;?!»]|« /);
    }
  });

  it("into German and Spanish opens its quotes and questions as they do", () => {
    for (const key of keys) {
      for (const text of textsOf(messagesOf("de")[key])) expect(/“/.test(text), key).toBe(/„/.test(text));
      for (const text of textsOf(messagesOf("es")[key])) {
        expect(/\?/.test(text), key).toBe(/¿/.test(text));
        expect(/!/.test(text), key).toBe(/¡/.test(text));
      }
    }
  });
});
