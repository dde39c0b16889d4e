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

  it("is the one they chose here, in the region of their browser where that speaks it", () => {
    expect(chooseLocale(["en-GB", "ar-EG"], "ar")).toBe("ar-EG");
    expect(chooseLocale(["en-GB"], "de")).toBe("de");
  });

  it("is English when there is nothing else to go by", () => {
    expect(chooseLocale([], null)).toBe("en");
    expect(chooseLocale(["ja", "tlh"], null)).toBe("en");
  });

  it("is not taken from a tag that is none", () => {
    expect(chooseLocale(["de-!!", "es"], null)).toBe("es");
    expect(languageOf("constructor")).toBeNull();
  });

  it("is remembered on this device, and a browser that remembers nothing does no harm", () => {
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
  it("says one and many as the language does", async () => {
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

  it("takes what people wrote as it is, braces and dollars too", async () => {
    const { t } = await translatorFor("en");
    expect(t("app.title", { name: "{count} & <b>$1</b>" })).toBe("{count} & <b>$1</b> – Checklist");
  });

  it("keeps a name that runs the other way from turning the sentence around", async () => {
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

  it("know what separates thousands, so that a typed comma is understood", async () => {
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

  it("give back what is no date as it is", async () => {
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
