import { describe, expect, test } from "vitest";

import { addStep, isSameTemplate, merge, moveStep, removeSection, removeStep, stepOf, withSection, withStep, type Draft, type DraftStep } from ".";

const step = (id: string, more: Partial<DraftStep> = {}): DraftStep => ({ id, type: "boolean", label: id.slice(2), ...more });
const BASE: Draft = {
  name: "Cold store",
  tags: ["kitchen"],
  sections: [
    { id: "g-a", title: "Kitchen", steps: [step("s-a"), step("s-b"), step("s-c")] },
    { id: "g-b", title: "Bar", steps: [step("s-d")] },
  ],
};
const ids = (draft: Draft) => draft.sections.map((section) => section.steps.map((one) => one.id.slice(2)).join(" ")).join(" | ");

describe("two people change a template", () => {
  test("what each changed alone is in the outcome", () => {
    const yours = withStep({ ...BASE, name: "Warm store" }, "s-a", { required: true });
    const theirs = withStep(withStep(BASE, "s-a", { hint: "Look" }), "s-d", { label: "Door" });
    const { draft, conflicts } = merge(BASE, yours, theirs);
    expect(conflicts).toEqual([]);
    expect(draft.name).toBe("Warm store");
    expect(stepOf(draft, "s-a")).toMatchObject({ required: true, hint: "Look" });
    expect(stepOf(draft, "s-d")?.label).toBe("Door");
  });
  test("what both changed is a conflict, and yours is the default", () => {
    const yours = withStep(BASE, "s-a", { label: "Mine" });
    const theirs = withStep(BASE, "s-a", { label: "Theirs" });
    const first = merge(BASE, yours, theirs);
    expect(first.conflicts).toEqual([{ key: "step:s-a.label", about: "Step “Mine”", what: "label", base: "“a”", yours: "“Mine”", theirs: "“Theirs”" }]);
    expect(stepOf(first.draft, "s-a")?.label).toBe("Mine");
    expect(stepOf(merge(BASE, yours, theirs, new Map([["step:s-a.label", "theirs"]])).draft, "s-a")?.label).toBe("Theirs");
  });
  test("the same change of both is no conflict", () => {
    const both = withStep(BASE, "s-a", { label: "Same" });
    expect(merge(BASE, both, { ...both }).conflicts).toEqual([]);
  });
  test("both add steps and neither is lost", () => {
    const yours = addStep(BASE, "text", { section: 0, step: 1 }).draft;
    const theirs = withStep(addStep(BASE, "text", { section: 1, step: 1 }).draft, "s-new-1", {});
    const named = { ...theirs, sections: theirs.sections.map((section) => ({ ...section, steps: section.steps.map((one) => (one.id === "s-new-1" ? { ...one, id: "s-e" } : one)) })) };
    expect(ids(merge(BASE, yours, named).draft)).toBe("a new-1 b c | d e");
  });
  test("the order of who moved something is kept", () => {
    const moved = moveStep(BASE, "s-c", { section: 0, step: 0 });
    expect(ids(merge(BASE, moved, removeStep(BASE, "s-b")).draft)).toBe("c a | d");
    expect(ids(merge(BASE, withStep(BASE, "s-a", { required: true }), moved).draft)).toBe("c a b | d");
    expect(ids(merge(BASE, BASE, moveStep(BASE, "s-a", { section: 1, step: 0 })).draft)).toBe("b c | a d");
  });
  test("a step removed by one and changed by the other is a conflict", () => {
    const yours = removeStep(BASE, "s-a");
    const theirs = withStep(BASE, "s-a", { required: true });
    const { conflicts, draft } = merge(BASE, yours, theirs);
    expect(conflicts).toMatchObject([{ key: "step:s-a", yours: "removed", theirs: "changed" }]);
    expect(stepOf(draft, "s-a")).toBeNull();
    expect(stepOf(merge(BASE, yours, theirs, new Map([["step:s-a", "theirs"]])).draft, "s-a")?.required).toBe(true);
    expect(stepOf(merge(BASE, removeStep(BASE, "s-b"), theirs).draft, "s-b")).toBeNull();
  });
  test("a section that one removed stays when the other put a step into it", () => {
    const yours = removeSection(BASE, "g-b");
    const theirs = moveStep(BASE, "s-a", { section: 1, step: 0 });
    expect(ids(merge(BASE, yours, theirs).draft)).toBe("b c | a");
    expect(ids(merge(BASE, yours, BASE).draft)).toBe("a b c");
  });
  test("titles, tags and settings are fields as well", () => {
    const yours = withSection({ ...BASE, tags: ["mine"] }, "g-a", { title: "Mine" });
    const theirs = withSection({ ...BASE, tags: ["theirs"], settings: { allow_skip: true } }, "g-a", { title: "Theirs" });
    const { conflicts, draft } = merge(BASE, yours, theirs, new Map([["template.tags", "theirs"]]));
    expect(conflicts.map((one) => one.key).sort()).toEqual(["section:g-a.title", "template.tags"]);
    expect(draft).toMatchObject({ tags: ["theirs"], settings: { allow_skip: true } });
  });
  test("without own changes the result is theirs; without theirs it is one's own", () => {
    const other = moveStep(withStep({ ...BASE, description: "New" }, "s-b", { type: "choice", config: { options: [{ id: "o-1", label: "A" }], "x-mine": { deep: [1] } } }), "s-d", { section: 0, step: 0 });
    expect(isSameTemplate(merge(BASE, BASE, other).draft, other)).toBe(true);
    expect(isSameTemplate(merge(BASE, other, BASE).draft, other)).toBe(true);
  });
});
