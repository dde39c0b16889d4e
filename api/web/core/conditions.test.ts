/** Cases outside the test vectors: messages, and the cost of large runs. */

import { describe, expect, it } from "vitest";

import vectors from "../../../tests/vectors/executor.json";
import { gapOf, photoBounds, evaluate, stepsOf, type AnswerLike, type Step, type Template } from ".";

const checklists = vectors.checklists as unknown as Readonly<Record<string, Template>>;

function stepOf(checklist: string, id: string): Step {
  const step = checklists[checklist] && stepsOf(checklists[checklist]).find((candidate) => candidate.id === id);
  if (!step) throw new Error(`no step ${id}`);
  return step;
}

function answer(value: AnswerLike["value"], photos = 0, geo: unknown = null): AnswerLike {
  return { value, photos: { length: photos }, geo };
}

describe("what is missing in a step", () => {
  it("is an answer, before there is any", () => {
    expect(gapOf(stepOf("evidence", "s-damage"), undefined)).toEqual({ path: "value", code: "required" });
  });

  it("is a number of photos", () => {
    const damage = stepOf("evidence", "s-damage");
    expect(gapOf(damage, answer("cracked"))).toEqual({ path: "photo", code: "too_few", params: { count: 2 } });
    expect(gapOf(damage, answer("cracked", 1))).toEqual({ path: "photo", code: "too_few", params: { count: 1 } });
    expect(gapOf(damage, answer("cracked", 2))).toBeNull();
  });

  it("is at least one photo in a photo step, for any minimum", () => {
    const step = stepOf("evidence", "s-photos-from-zero");
    expect(photoBounds(step)).toEqual({ min: 1, max: 1 });
    expect(gapOf(step, undefined)).toEqual({ path: "photo", code: "too_few", params: { count: 1 } });
  });

  it("is the place, after all else is there", () => {
    const step = stepOf("evidence", "s-photo-and-place");
    expect(gapOf(step, answer(null, 1))).toEqual({ path: "geo", code: "geo_required" });
    expect(gapOf(step, answer(null, 1, { lat: 0, lng: 0, accuracy_m: null }))).toBeNull();
  });
});

describe("a checklist of 500 steps", () => {
  it("is evaluated with a few reads per answer, for any conditions", () => {
    const first = stepOf("skips", "s-optional");
    const chain = Array.from({ length: 500 }, (_, index): Step => {
      const condition = { when: { step: `s-${index - 1}`, op: "eq", value: true } } as const;
      return { ...first, id: `s-${index}`, ...(index > 0 && { condition }) };
    });
    const template = { ...(checklists["skips"] as Template), sections: [{ id: "g-1", title: "All", steps: chain }] };
    let looks = 0;
    const counted: AnswerLike = {
      get value() {
        looks += 1;
        return true;
      },
      photos: [],
      geo: null,
    };
    const answers = new Map(chain.map(({ id }) => [id, counted]));
    expect(evaluate(template, answers, new Set()).progress).toEqual({ total: 500, answered: 500, skipped: 0 });
    expect(looks).toBeLessThan(500 * 5);
  });
});
