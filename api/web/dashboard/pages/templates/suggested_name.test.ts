import { describe, expect, it } from "vitest";

import { EMPTY_DRAFT, countSteps, titleOfSection, type Draft } from "../../../core/authoring";
import texts from "./gallery.json";
import { examplesOf } from "./gallery";
import { suggestedName } from "./suggested_name";

const draft = (title: string, ...labels: string[]): Draft =>
  ({ ...EMPTY_DRAFT, sections: [{ id: "g-1", title, steps: labels.map((label, index) => ({ id: `s-${index}`, type: "boolean", label })) }] }) as Draft;

describe("the suggested name of a template", () => {
  it("is that of its first named section, or else its first question", () => {
    expect(suggestedName(draft("Opening the kitchen", "Is the floor clean?"))).toBe("Opening the kitchen");
    expect(suggestedName(draft(titleOfSection(1), "", "Is the floor clean?"))).toBe("Is the floor clean");
    expect(suggestedName(EMPTY_DRAFT)).toBe("");
  });

  it("is short, and not cut within a word", () => {
    const name = suggestedName(draft(titleOfSection(1), "Are all of the emergency exits of the building free of obstacles and unlocked?"));
    expect(name).toBe("Are all of the emergency exits of the building free of …");
    expect(suggestedName(draft(titleOfSection(1), "x".repeat(80)))).toBe(`${"x".repeat(60)} …`);
  });
});

describe("the gallery", () => {
  it("has every shipped example as a template with steps", () => {
    const examples = examplesOf(texts);
    expect(examples.map(({ key }) => key)).toEqual(Object.keys(texts));
    expect(examples.length).toBeGreaterThan(10);
    for (const { draft: each } of examples) expect(countSteps(each)).toBeGreaterThan(3);
  });
});
