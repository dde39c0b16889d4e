import { describe, expect, test } from "vitest";

import {
  addSection,
  addStep,
  allSteps,
  anchored,
  asDraft,
  authored,
  brokenConditions,
  changeLine,
  changedComparison,
  hasUnfinishedCondition,
  newComparison,
  changesBetween,
  completeStep,
  conditionText,
  duplicateStep,
  lineOf,
  moveBehind,
  moveStep,
  movedIds,
  noMoreSteps,
  nudgeSection,
  nudgeStep,
  patchOf,
  pathOf,
  readJson,
  readWhen,
  removeStep,
  renameStep,
  changeStepType,
  shapeFault,
  slugOf,
  sourcesFor,
  stepMap,
  stepOf,
  remainingProblems,
  withReadableIds,
  withStep,
  withoutSource,
  writeWhen,
  type Draft,
  type DraftStep,
} from ".";

const step = (id: string, more: Partial<DraftStep> = {}): DraftStep => ({ id, type: "boolean", label: id.slice(2), ...more });

const DRAFT: Draft = {
  name: "Cold store",
  sections: [
    { id: "g-a", title: "Kitchen", steps: [step("s-ok", { label: "Fridge ok?" }), step("s-why", { type: "text", condition: { when: { step: "s-ok", op: "eq", value: false } } }), step("s-c")] },
    { id: "g-b", title: "Bar", steps: [step("s-d")] },
  ],
};

const ids = (draft: Draft) => draft.sections.map((section) => section.steps.map((one) => one.id.slice(2)).join(" ")).join(" | ");

describe("moving", () => {
  test("a step is moved before the one at the target position", () => {
    expect(ids(moveStep(DRAFT, "s-c", { section: 0, step: 0 }))).toBe("c ok why | d");
    expect(ids(moveStep(DRAFT, "s-ok", { section: 0, step: 3 }))).toBe("why c ok | d");
    expect(ids(moveStep(DRAFT, "s-ok", { section: 1, step: 1 }))).toBe("why c | d ok");
  });
  test("the current position changes nothing", () => {
    expect(moveStep(DRAFT, "s-why", { section: 0, step: 1 })).toBe(DRAFT);
    expect(moveStep(DRAFT, "s-why", { section: 0, step: 2 })).toBe(DRAFT);
  });
  test("by one place, a step goes over the edge of its section", () => {
    expect(ids(nudgeStep(DRAFT, "s-c", 1) ?? DRAFT)).toBe("ok why | c d");
    expect(ids(nudgeStep(DRAFT, "s-d", -1) ?? DRAFT)).toBe("ok why c d | ");
    expect(ids(nudgeStep(DRAFT, "s-ok", 1) ?? DRAFT)).toBe("why ok c | d");
    expect(nudgeStep(DRAFT, "s-ok", -1)).toBeNull();
    expect(nudgeStep(DRAFT, "s-d", 1)).toBeNull();
  });
  test("sections are moved within the template only", () => {
    expect(ids(nudgeSection(DRAFT, "g-b", -1) ?? DRAFT)).toBe("d | ok why c");
    expect(nudgeSection(DRAFT, "g-b", 1)).toBeNull();
  });
  test("unchanged steps stay the same objects", () => {
    const next = withStep(DRAFT, "s-c", { label: "Other" });
    expect(next.sections[1]).toBe(DRAFT.sections[1]);
    expect(next.sections[0]?.steps[0]).toBe(DRAFT.sections[0]?.steps[0]);
    expect(completeStep(DRAFT.sections[0]?.steps[0] ?? step("s-x"))).toBe(completeStep(DRAFT.sections[0]?.steps[0] ?? step("s-x")));
  });
  test("a source after its dependant is found, and moving the dependant fixes it", () => {
    const moved = moveStep(DRAFT, "s-ok", { section: 1, step: 1 });
    const [broken] = brokenConditions(moved);
    expect(broken).toMatchObject({ why: "later", sourceId: "s-ok", step: { id: "s-why" } });
    expect(brokenConditions(moveBehind(moved, "s-why", "s-ok"))).toEqual([]);
  });
});

describe("adding and removing", () => {
  test("ids are made from labels when the template is stored, and conditions follow", () => {
    const { draft, id } = addStep(DRAFT, "boolean", { section: 1, step: 1 });
    const labelled = withStep(draft, id, { label: "Türen zu? (Ganz)" });
    const asked = withStep(addSection(labelled, 1).draft, "s-d", { condition: { when: { step: id, op: "eq", value: true } } });
    const named = withReadableIds(asked);
    expect(stepOf(named, "s-turen-zu-ganz")?.label).toBe("Türen zu? (Ganz)");
    expect(stepOf(named, "s-d")?.condition?.when).toEqual({ step: "s-turen-zu-ganz", op: "eq", value: true });
    expect(named.sections.at(-1)?.id).toBe("g-section-3");
    expect(withReadableIds(named)).toBe(named);
  });
  test("labels in other scripts and duplicate labels give valid ids", () => {
    expect(slugOf("冷蔵庫")).toBe("");
    const first = addStep(DRAFT, "text", { section: 0, step: 0 });
    const second = addStep(withStep(first.draft, first.id, { label: "Fridge" }), "text", { section: 0, step: 0 });
    const named = withReadableIds(withStep(second.draft, second.id, { label: "Fridge" }));
    expect(ids(named)).toBe("fridge fridge-2 ok why c | d");
  });
  test("a copy follows its original under another id", () => {
    const made = duplicateStep(DRAFT, "s-why");
    expect(made?.draft && ids(made.draft)).toBe("ok why why-2 c | d");
    expect(made && stepOf(made.draft, made.id)?.condition).toEqual(stepOf(DRAFT, "s-why")?.condition);
  });
  test("removing a step leaves broken conditions", () => {
    expect(brokenConditions(removeStep(DRAFT, "s-ok"))).toMatchObject([{ why: "gone", sourceId: "s-ok" }]);
  });
  test("the limit of steps is reported before it is exceeded", () => {
    const full: Draft = { ...DRAFT, sections: [{ id: "g-a", title: "A", steps: Array.from({ length: 500 }, (_, index) => step(`s-${index}`)) }] };
    expect(noMoreSteps(full)).toContain("500");
    expect(noMoreSteps(DRAFT)).toBeNull();
  });
  test("a change of type keeps shared and unknown fields", () => {
    const choice = step("s-x", { type: "choice", config: { options: [{ id: "o-1", label: "A" }], "x-mine": 1 } });
    const draft: Draft = { name: "", sections: [{ id: "g-a", title: "", steps: [choice] }] };
    expect(stepOf(changeStepType(draft, choice, "multi_choice"), "s-x")?.config).toEqual(choice.config);
    expect(stepOf(changeStepType(draft, choice, "text"), "s-x")?.config).toEqual({ "x-mine": 1 });
    const expecting = { ...choice, config: { ...choice.config, expected: ["o-1"], on_flag: { note: true } } };
    expect(stepOf(changeStepType(draft, expecting, "multi_choice"), "s-x")?.config).toEqual(choice.config);
  });
  test("renaming a step without dependants changes nothing else", () => {
    expect(renameStep(DRAFT, "s-d", "s-e").sections[0]).toBe(DRAFT.sections[0]);
  });
});

describe("conditions", () => {
  const when = { any: [{ step: "s-a", op: "eq", value: true }, { all: [{ step: "s-b", op: "gt", value: 3 }, { step: "s-a", op: "exists", value: false }] }] } as const;
  const source = (more: Partial<DraftStep>) => step("s-b", more);
  test("groups are read and written without a difference", () => {
    expect(writeWhen(readWhen(when))).toEqual(when);
    expect(writeWhen(readWhen({ step: "s-a", op: "eq", value: true }))).toEqual({ step: "s-a", op: "eq", value: true });
    expect(writeWhen({ join: "all", parts: [] })).toBeNull();
  });
  test("without one source, what is left is as simple as it can be", () => {
    expect(withoutSource(when, "s-a")).toEqual({ step: "s-b", op: "gt", value: 3 });
    expect(withoutSource({ step: "s-a", op: "eq", value: true }, "s-a")).toBeNull();
  });
  test("are formatted as a sentence", () => {
    const steps = stepMap({ name: "", sections: [{ id: "g-a", title: "", steps: [step("s-a", { config: { false_label: "Broken" } }), source({ type: "number", label: "Heat", config: { unit: "°C" } })] }] });
    expect(conditionText(when, steps)).toBe("“a” is Yes or (“Heat” is more than 3 °C and “a” is not answered)");
    expect(conditionText({ step: "s-a", op: "eq", value: false }, steps)).toBe("“a” is Broken");
  });
  test("only earlier steps with an answer are offered", () => {
    const draft = addStep(DRAFT, "instruction", { section: 0, step: 0 }).draft;
    expect(sourcesFor(draft, "s-c").map((one) => one.id)).toEqual(["s-ok", "s-why"]);
    expect(sourcesFor(DRAFT, "s-ok")).toEqual([]);
  });
  test("another operator or source takes a value that fits it", () => {
    const number = source({ type: "number" });
    expect(changedComparison({ step: "s-b", op: "eq", value: 4 }, { op: "in" }, number).value).toEqual([4]);
    expect(changedComparison({ step: "s-b", op: "in", value: [4, 5] }, { op: "lt" }, number).value).toBe(4);
    expect(changedComparison({ step: "s-x", op: "gt", value: 4 }, { step: "s-b" }, source({ type: "photo" }))).toEqual({ step: "s-b", op: "exists", value: true });
  });
  test("a new comparison is not finished: its value, or its step, is to be chosen", () => {
    const [number, picture] = [source({ type: "number" }), source({ id: "s-c", type: "photo" })];
    const made = newComparison([number, picture]);
    expect(made).toEqual({ step: "s-b", op: "eq", value: null });
    expect(newComparison([picture])).toMatchObject({ step: "" });
    const other = changedComparison({ step: "s-a", op: "eq", value: true }, { step: "s-b" }, number);
    expect(other).toEqual({ step: "s-b", op: "eq", value: null });
    for (const when of [made, other, newComparison([picture])]) {
      const draft: Draft = { name: "", sections: [{ id: "g-a", title: "", steps: [number, picture, step("s-z", { condition: { when } })] }] };
      expect(brokenConditions(draft)).toEqual([]);
      expect(hasUnfinishedCondition(step("s-z", { condition: { when } }))).toBe(true);
      expect(asDraft(draft)).toBe(draft);
    }
    expect(conditionText(made, new Map([["s-b", number]]))).toMatch(/ is …$/);
    expect(hasUnfinishedCondition(step("s-z", { condition: { when: changedComparison(made, { value: 4 }, number) } }))).toBe(false);
    expect(changedComparison(newComparison([picture]), { step: "s-c" }, picture)).toEqual({ step: "s-c", op: "exists", value: true });
  });
  test("an option or an operator that is gone is found", () => {
    const draft: Draft = {
      name: "",
      sections: [{ id: "g-a", title: "", steps: [source({ type: "choice", config: { options: [{ id: "o-1", label: "A" }] } }), step("s-z", { condition: { when: { step: "s-b", op: "eq", value: "o-2" } } })] }],
    };
    expect(brokenConditions(draft)).toMatchObject([{ why: "value" }]);
    expect(brokenConditions(withStep(draft, "s-b", { type: "photo" }))).toMatchObject([{ why: "operator" }]);
  });
});

describe("differences in words", () => {
  const described = (after: Draft, before = DRAFT) => changesBetween(before, after).map(changeLine);
  test("describe changes of a step", () => {
    expect(described(withStep(DRAFT, "s-ok", { required: true }))).toEqual(["Step “Fridge ok?”: required: no → yes"]);
    expect(described(withStep(DRAFT, "s-why", { condition: undefined }))).toEqual(["Step “why”: shown when: “Fridge ok?” is No → always"]);
    expect(described(removeStep(DRAFT, "s-d"))).toEqual(["Step “d” removed"]);
    expect(described(addStep(DRAFT, "rating", { section: 1, step: 1 }).draft)).toEqual(["Step “s-new-1” added to Section “Bar” (rating)"]);
  });
  test("describe changes of sections and of the template", () => {
    expect(described({ ...DRAFT, name: "Warm store", settings: { allow_skip: true } })).toEqual(["Template: name: “Cold store” → “Warm store”", "Template: steps may be skipped: no → yes"]);
    expect(described({ ...DRAFT, sections: [DRAFT.sections[0] ?? { id: "", title: "", steps: [] }] })).toEqual(["Section “Bar” removed with 1 step", "Step “d” removed"]);
  });
  test("report one move as one change", () => {
    expect(described(moveStep(DRAFT, "s-ok", { section: 0, step: 3 }))).toEqual(["Step “Fridge ok?” moved behind “c”"]);
    expect(described(moveStep(DRAFT, "s-c", { section: 1, step: 0 }))).toEqual(["Step “c” moved to Section “Bar”"]);
    expect([...movedIds(["1", "2", "3", "4"], ["4", "1", "2", "3"])]).toEqual(["4"]);
    expect(movedIds(["1", "2"], ["2"]).size).toBe(0);
  });
  test("do not include explicit defaults", () => {
    expect(described({ ...DRAFT, description: "", tags: [], execution: { scope: "any" } })).toEqual([]);
  });
});

describe("JSON", () => {
  test("each part has its line", () => {
    const text = JSON.stringify(DRAFT, null, 2);
    const read = readJson(text);
    if (!read.ok) throw new Error(read.message);
    expect(read.value).toEqual(DRAFT);
    const lines = text.split("\n");
    expect(lines[lineOf(read.lines, "sections[0].steps[1].type") - 1]).toContain('"type": "text"');
    expect(lines[lineOf(read.lines, "sections[1].title") - 1]).toContain("Bar");
    // A missing field is reported at its own path.
    expect(lineOf(read.lines, "sections[0].steps[2].config.options[1].label")).toBe(lineOf(read.lines, "sections[0].steps[2]"));
    expect(lineOf(read.lines, "")).toBe(1);
  });
  test.each([
    ['{\n "a": 1,\n}', 3, "comma too many"],
    ['{\n "a": 1\n "b": 2}', 3, "comma or }"],
    ['{"a": "x\ny"}', 1, "no end"],
    ['{"a": 1, "a": 2}', 1, "twice"],
    ['{"a": }', 1, "value is missing"],
    ["[1,\n2", 2, "comma or ]"],
    ["{} x", 1, "behind the end"],
    ["", 1, "ends"],
    ['{"a": 01}', 1, "comma or }"],
    ["[".repeat(300), 1, "deeply"],
  ])("%j is broken on line %i", (text, line, message) => {
    const read = readJson(text);
    expect(read).toMatchObject({ ok: false, line });
    expect(!read.ok && read.message).toContain(message);
  });
  test("is read as JSON.parse reads it", () => {
    const text = '{"a": [1.5e3, -0, true, null, "\\u00e9\\n"], "b": {}, "c": []}';
    expect(readJson(text)).toMatchObject({ ok: true, value: JSON.parse(text) });
  });
  test("what the visual editor cannot show is named", () => {
    expect(shapeFault(DRAFT)).toBeNull();
    expect(shapeFault({ ...DRAFT, sections: [{ id: "g-a", title: "A", steps: [{ id: "s-a", type: "poem", label: "A" }] }] })?.path).toBe("sections[0].steps[0].type");
    expect(shapeFault({ ...DRAFT, sections: [...DRAFT.sections, ...DRAFT.sections] })?.message).toContain("twice");
    expect(shapeFault({ name: "A" })?.path).toBe("sections");
    expect(shapeFault([])?.path).toBe("");
    expect(asDraft({ ...DRAFT, sections: [{ id: "g-a", title: "A", steps: [step("s-a", { condition: { when: {} } as never })] }] })).toBeNull();
  });
  test("unknown fields survive every change", () => {
    const given = { ...DRAFT, "x-top": [1], sections: DRAFT.sections.map((section) => ({ ...section, "x-section": 2, steps: section.steps.map((one) => ({ ...one, "x-step": 3 })) })) };
    const draft = moveStep(withStep(asDraft(given) ?? DRAFT, "s-c", { label: "Other" }), "s-c", { section: 1, step: 0 });
    expect(draft).toMatchObject({ "x-top": [1], sections: [{ "x-section": 2 }, { steps: [{ id: "s-c", "x-step": 3, label: "Other" }, {}] }] });
  });
});

describe("the service's problems", () => {
  const problem = { path: "sections[0].steps[1].config.placeholder", code: "too_long", message: "Too long." };
  test("follow their step", () => {
    const bound = anchored(problem, DRAFT);
    expect(bound).toMatchObject({ owner: "s-why", field: "config.placeholder" });
    const moved = moveStep(DRAFT, "s-why", { section: 1, step: 0 });
    expect(pathOf(bound, moved)).toBe("sections[1].steps[0].config.placeholder");
    expect(remainingProblems([bound], DRAFT, moved)).toEqual([bound]);
  });
  test("are removed when their field is changed or gone", () => {
    const bound = [anchored(problem, DRAFT)];
    expect(remainingProblems(bound, DRAFT, withStep(DRAFT, "s-why", { label: "Other" }))).toHaveLength(1);
    expect(remainingProblems(bound, DRAFT, withStep(DRAFT, "s-why", { config: { placeholder: "x" } }))).toHaveLength(0);
    expect(remainingProblems(bound, DRAFT, removeStep(DRAFT, "s-why"))).toHaveLength(0);
    const ofName = [anchored({ path: "name", code: "blank", message: "Blank." }, DRAFT)];
    expect(remainingProblems(ofName, DRAFT, withStep(DRAFT, "s-c", { label: "Other" }))).toHaveLength(1);
    expect(remainingProblems(ofName, DRAFT, { ...DRAFT, name: "B" })).toHaveLength(0);
  });
});

test("the patch contains removals and defaults", () => {
  expect(patchOf({ ...DRAFT, settings: { est_minutes: 5 } })).toMatchObject({ description: "", tags: [], settings: { allow_skip: false, signature_on_complete: false, est_minutes: 5, layout: null } });
  expect(patchOf({ name: "A" } as Draft)).toMatchObject({ sections: null });
  expect(authored({ id: "t-1", v: 3, name: "A", sections: [], managed_by: null })).toEqual({ name: "A", sections: [] });
  expect(allSteps(DRAFT)).toHaveLength(4);
});
