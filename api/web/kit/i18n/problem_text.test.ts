/** Every problem has a translated text, with the violated limit. */

import { describe, expect, it } from "vitest";

import vectors from "../../../../tests/vectors/executor.json";
import { validateValue, type JsonValue, type Problem, type Step } from "../../core";
import { LANGUAGES, loadMessages, type Language } from "./languages";
import { problemText } from "./problem_text";
import { createTranslator } from "./translator";

const languages = Object.keys(LANGUAGES) as Language[];
const english = createTranslator("en", await loadMessages("en"));

const steps = vectors.steps as unknown as Readonly<Record<string, Step>>;
const refused = (vectors.cases as unknown as readonly { kind: string; step: string; value: JsonValue }[])
  .filter(({ kind }) => kind === "value")
  .flatMap(({ step, value }) => {
    const its = steps[step];
    const problem = its === undefined ? null : validateValue(its, value).problem;
    return its === undefined || problem === null ? [] : [{ type: its.type, problem }];
  });

/** Codes of the service that the core does not produce: of runs, photos, and outdated pages. */
const OF_THE_SERVICE: readonly Problem[] = [
  { path: "s-1", code: "not_applicable" },
  { path: "s-1", code: "skip_not_allowed" },
  { path: "s-1", code: "required" },
  { path: "signature", code: "required" },
  { path: "identity", code: "identity_required" },
  { path: "name", code: "blank" },
  { path: "email", code: "invalid_format" },
  { path: "geo", code: "geo_required" },
  { path: "geo.lat", code: "out_of_range" },
  { path: "value", code: "too_large" },
  { path: "photo", code: "too_many" },
  { path: "photo", code: "lost_on_device" },
  ...vectors.photo_refusals.map((code) => ({ path: "photo", code })),
];

describe("what is wrong", () => {
  it.each(languages)("has a text in %s for every problem of the core", async (language) => {
    const translator = createTranslator(language, await loadMessages(language));
    for (const { problem } of refused) expect(problemText(translator, problem)).toMatch(/^[^{}]{4,}$/);
    for (const problem of OF_THE_SERVICE) {
      expect(problemText(translator, problem)).not.toBe(translator.t("problem.generic"));
    }
  });

  it("says what to do about every rejected image", () => {
    const unknown = problemText(english, { path: "photo", code: "from_the_future" });
    const vague = vectors.photo_refusals.filter((code) => problemText(english, { path: "photo", code }) === unknown);
    expect(vague).toEqual(["too_slow"]);
  });

  it("has the general text only for problems that no person can cause", () => {
    const general = refused.filter(({ problem }) => problemText(english, problem) === english.t("problem.generic"));
    const kinds = new Set(general.map(({ type, problem }) => `${type} ${problem.code}`));
    expect([...kinds].sort()).toEqual(["instruction no_answer", "photo wrong_type", "scan wrong_type", "text wrong_type"]);
  });

  it.each<[Problem, string]>([
    [{ path: "value", code: "out_of_range", params: { min: 0, max: 10 } }, "Enter a value from 0 to 10."],
    [{ path: "value", code: "out_of_range", params: { min: -0.5 } }, "Enter -0.5 or more."],
    [{ path: "value", code: "out_of_range", params: { max: 1000 } }, "Enter 1,000 or less."],
    [{ path: "value", code: "too_many_decimals", params: { count: 0 } }, "Enter a whole number."],
    [{ path: "value", code: "too_many_decimals", params: { count: 1 } }, "Use no more than 1 decimal place."],
    [{ path: "value", code: "wrong_type", params: { wanted: "number" } }, "Enter a number, such as 12.5."],
    [{ path: "value.name", code: "blank" }, "Enter your name."],
    [{ path: "photo", code: "too_few", params: { count: 2 } }, "2 more photos needed."],
    [{ path: "photo", code: "from_the_future" }, "This photo could not be read. Please take another one."],
    [{ path: "value", code: "from_the_future", message: "In English." }, "This answer cannot be used. Please check it."],
  ])("%j reads: %s", (problem, text) => {
    expect(problemText(english, problem)).toBe(text);
  });
});
