/**
 * The service and this core give the same results: the vectors are results of the Python core, and its tests run them
 * too. `python -m checklist_dev.generate vectors` makes the file and describes its format.
 */

import { describe, expect, it } from "vitest";

import vectors from "../../../tests/vectors/executor.json";
import { displayValue, emailProblem, gapOf, geoProblems, canSkip, isFlagged, nameProblem, evaluate, stepsOf, validateValue } from ".";
import type { DisplayText, JsonValue, Problem, Progress, Step, Template } from ".";

interface Expected {
  readonly value?: JsonValue;
  readonly display?: string;
  readonly problems?: readonly (readonly [string, string])[];
  readonly applicable?: readonly string[];
  readonly answered?: readonly string[];
  readonly progress?: Progress;
  readonly missing?: readonly string[];
  readonly allowed?: boolean;
  readonly flagged?: boolean;
}

interface Case {
  readonly kind: "value" | "location" | "identity" | "flag" | "state" | "skip";
  readonly step?: string;
  readonly value?: JsonValue;
  readonly today?: string;
  readonly geo?: JsonValue;
  readonly name?: string;
  readonly email?: string;
  readonly checklist?: string;
  readonly answers?: Readonly<Record<string, { readonly value: JsonValue; readonly photos: number; readonly geo: unknown; readonly flagged?: boolean; readonly note?: string | null }>>;
  readonly skipped?: readonly string[];
  readonly expect: Expected;
}

const steps = vectors.steps as unknown as Readonly<Record<string, Step>>;
const checklists = vectors.checklists as unknown as Readonly<Record<string, Template>>;
const cases = vectors.cases as unknown as readonly Case[];

function the<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error("the vectors file is not complete");
  return value;
}

function named(problems: readonly (Problem | null)[]): (readonly [string, string])[] {
  return problems.filter((problem) => problem !== null).map(({ path, code }) => [path, code] as const);
}

function moment(text: string): string {
  const [date = "", time = ""] = text.split(/[TZ.]/);
  return `${date} ${time.endsWith(":00") ? time.slice(0, 5) : time} UTC`;
}

/** The texts of the service's `display`, which goes into events in English. */
const WORDS: DisplayText = {
  yes: "Yes",
  no: "No",
  none: "None",
  number: (value, decimals) => {
    const format = { useGrouping: false, maximumFractionDigits: 20, ...(decimals !== null && { minimumFractionDigits: decimals }) };
    return new Intl.NumberFormat("en", format).format(value);
  },
  rating: (value, max, label) => `${value} of ${max}${label === null ? "" : ` (${label})`}`,
  list: (items) => items.join(", "),
  date: (text) => text,
  time: (text) => text,
  moment,
  signedBy: (name) => `Signed by ${name}`,
};

function verdictOn(given: Case): Expected {
  switch (given.kind) {
    case "value": {
      const step = the(steps[the(given.step)]);
      const verdict = validateValue(step, given.value ?? null);
      if (verdict.problem !== null) return { problems: named([verdict.problem]) };
      return { value: verdict.value, display: displayValue(step, verdict.value, WORDS) };
    }
    case "location":
      return { problems: named(geoProblems(given.geo ?? null)) };
    case "identity":
      return { problems: named([nameProblem(the(given.name)), emailProblem(the(given.email))]) };
    case "flag": {
      const step = the(steps[the(given.step)]);
      const { value } = validateValue(step, given.value ?? null);
      return { flagged: isFlagged(step, value, the(given.today)) };
    }
    case "state": {
      const template = the(checklists[the(given.checklist)]);
      const entries = Object.entries(the(given.answers));
      const answers = new Map(entries.map(([id, answer]) => [id, { ...answer, photos: { length: answer.photos } }]));
      const { applicable, progress, missing } = evaluate(template, answers, new Set(given.skipped));
      const answered = stepsOf(template).filter((step) => gapOf(step, answers.get(step.id)) === null);
      return { applicable: [...applicable], answered: answered.map((step) => step.id), progress, missing };
    }
    case "skip": {
      const template = the(checklists[the(given.checklist)]);
      const step = the(stepsOf(template).find(({ id }) => id === given.step));
      return { allowed: evaluate(template, new Map(), new Set()).applicable.has(step.id) && canSkip(template, step) };
    }
  }
}

describe("the app gives the service's results", () => {
  it.each(cases.map((given, index) => [`${index}: ${JSON.stringify({ ...given, expect: undefined }).slice(0, 120)}`, given] as const))(
    "%s",
    (_, given) => {
      expect(verdictOn(given)).toEqual(given.expect);
    },
  );

  it("covers at least 600 cases", () => {
    expect(cases.length).toBeGreaterThanOrEqual(600);
  });
});

describe("a normal form", () => {
  it("is idempotent", () => {
    for (const { kind, step, expect: expected } of cases) {
      if (kind !== "value" || expected.value === undefined) continue;
      expect(validateValue(the(steps[the(step)]), expected.value).value).toEqual(expected.value);
    }
  });
});
