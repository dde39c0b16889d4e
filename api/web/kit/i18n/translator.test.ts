/** Texts, plural forms, numbers and dates in the person's language and region. */

import { describe, expect, it } from "vitest";

import { chooseLocale, keepOwnLanguage, languageOf, loadMessages, ownLanguage } from "./languages";
import { createTranslator, type Translator } from "./translator";

async function translatorFor(locale: string): Promise<Translator> {
  return createTranslator(locale, await loadMessages(languageOf(locale) ?? "en"));
}

describe("the language of a person", () => {
  it("is the first of their browser's that there is", () => {
    expect(chooseLocale(["nl-NL", "fr-CA", "de"], null)).toBe("fr-CA");
  });

  it("is the chosen one, with the browser's region if the language matches", () => {
    expect(chooseLocale(["en-GB", "ar-EG"], "ar")).toBe("ar-EG");
    expect(chooseLocale(["en-GB"], "de")).toBe("de");
  });

  it("is English by default", () => {
    expect(chooseLocale([], null)).toBe("en");
    expect(chooseLocale(["ja", "tlh"], null)).toBe("en");
  });

  it("ignores invalid tags", () => {
    expect(chooseLocale(["de-!!", "es"], null)).toBe("es");
    expect(languageOf("constructor")).toBeNull();
  });

  it("is stored on this device, and works without storage", () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
    };
    expect(ownLanguage(storage)).toBeNull();
    keepOwnLanguage("es", storage);
    expect(ownLanguage(storage)).toBe("es");
    const broken = {
      getItem: () => {
        throw new Error("denied");
      },
      setItem: () => {
        throw new Error("denied");
      },
    };
    keepOwnLanguage("es", broken);
    expect(ownLanguage(broken)).toBeNull();
  });
});

describe("a text", () => {
  it("has the plural forms of the language", async () => {
    const { t } = await translatorFor("en");
    expect([0, 1, 2].map((count) => t("preview.steps", { count }))).toEqual(["0 steps", "1 step", "2 steps"]);
    const french = await translatorFor("fr");
    expect([0, 1, 2].map((count) => french.t("preview.steps", { count }))).toEqual(["0 étape", "1 étape", "2 étapes"]);
  });

  it("has all six forms in Arabic", async () => {
    const { t } = await translatorFor("ar");
    expect([0, 1, 2, 3, 11, 100].map((count) => t("photo.have", { count }))).toEqual([
      "لا صور",
      "صورة واحدة",
      "صورتان",
      "3 صور",
      "11 صورة",
      "100 صورة",
    ]);
  });

  it("inserts user texts unchanged, including braces and dollars", async () => {
    const { t } = await translatorFor("en");
    expect(t("app.title", { name: "{count} & <b>$1</b>" })).toBe("{count} & <b>$1</b> – Checklist");
  });

  it("isolates a name of the other direction", async () => {
    const english = await translatorFor("en");
    expect(english.t("checklist.sent_by", { sender: "مطعم القلعة" })).toBe("From \u2068مطعم القلعة\u2069");
    expect(english.t("checklist.sent_by", { sender: "Acme" })).toBe("From Acme");
    const arabic = await translatorFor("ar");
    expect(arabic.t("checklist.sent_by", { sender: "Acme" })).toBe("من \u2068Acme\u2069");
    expect(arabic.t("checklist.sent_by", { sender: "7" })).toBe("من 7");
  });

  it("writes numbers in it as the region does", async () => {
    expect((await translatorFor("de")).t("problem.at_most", { max: 1234.5 })).toBe("Geben Sie höchstens 1.234,5 ein.");
    expect((await translatorFor("ar-EG")).t("preview.steps", { count: 12 })).toBe("١٢ خطوة");
  });
});

describe("numbers and dates", () => {
  it("have as many decimals as they have, or as many as the step says", async () => {
    const { number, percent } = await translatorFor("en");
    expect(number(3)).toBe("3");
    expect(number(0.1234567891)).toBe("0.1234567891");
    expect(number(3, 2)).toBe("3.00");
    expect(percent(0.256)).toBe("26%");
  });

  it("are written as Intl does, also small ones, for which no format is made", async () => {
    for (const locale of ["en", "en-IN", "de", "de-CH", "de-AT", "es", "es-MX", "fr", "fr-CH", "fr-CA", "ar", "ar-EG", "ar-MA"]) {
      const { number } = await translatorFor(locale);
      for (const value of [-999, -30, -1, 0, 7, 999, 1000]) expect(number(value)).toBe(new Intl.NumberFormat(locale).format(value));
    }
  });

  it("give the thousands separator for parsing", async () => {
    expect((await translatorFor("en")).groupSeparator).toBe(",");
    expect((await translatorFor("de")).groupSeparator).toBe(".");
    expect((await translatorFor("es")).groupSeparator).toBe(".");
  });

  it("are written in words of the language, without moving a day across time zones", async () => {
    const german = await translatorFor("de");
    expect(german.date("2026-11-21")).toBe("21. November 2026");
    expect(german.time("13:50")).toBe("13:50");
    expect((await translatorFor("en-US")).time("13:50:30")).toMatch(/^1:50:30\sPM$/);
    expect((await translatorFor("fr")).moment("2026-11-21T13:50:00.000Z")).toContain("2026");
  });

  it("return text that is not a date unchanged", async () => {
    const { date, time, moment } = await translatorFor("en");
    expect([date("soon"), time("noon"), moment("never")]).toEqual(["soon", "noon", "never"]);
  });
});

describe("direction", () => {
  it("is right to left in Arabic alone", async () => {
    const locales = ["en", "de", "es", "fr", "ar", "ar-MA"];
    const directions = await Promise.all(locales.map(async (locale) => (await translatorFor(locale)).direction));
    expect(directions).toEqual(["ltr", "ltr", "ltr", "ltr", "rtl", "rtl"]);
  });
});
