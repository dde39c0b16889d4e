import { describe, expect, test } from "vitest";

import type { Step } from "../core";
import { runOf } from "./fixture/checklist";
import { type MemoryStore, memoryStore } from "./fixture/memory_store";
import { type KeptPlace, NO_PLACE } from "./layout";
import { step, template } from "./store/testing/templates";
import type { LocalAnswer } from "./store/types";
import { createWalk, firstOpen, following, isSingleTap, nextAction, placeOf, type Walk } from "./walk";

const ON_NO = { when: { step: "s-1", op: "eq", value: false } } as const;
const GIVEN: LocalAnswer = { value: null, geo: null, photos: [], skipped: false, flagged: false, note: null, pending: false, problem: null };
const answered = (value: LocalAnswer["value"]): LocalAnswer => ({ ...GIVEN, value });

function numbered(count: number): Step[] {
  return Array.from({ length: count }, (_, index) => step(`s-${index + 1}`, { type: "boolean" }));
}

function walkThrough(steps: Step[], kept: KeptPlace = NO_PLACE): { walk: Walk; store: MemoryStore } {
  const run = runOf(template(steps));
  const settings = { ...run.template.settings, layout: "one_at_a_time" as const };
  const store = memoryStore({ ...run, template: { ...run.template, settings } });
  return { walk: createWalk(store, kept), store };
}

describe("the moves", () => {
  test("lead from step to step, and end at the first and the last one", () => {
    const { walk } = walkThrough(numbered(3));
    expect([walk.current.value, walk.previous()]).toEqual(["s-1", false]);
    expect([walk.next(), walk.next(), walk.current.value, walk.next()]).toEqual([true, true, "s-3", false]);
    expect([walk.previous(), walk.current.value, walk.direction.value]).toEqual([true, "s-2", "back"]);
  });

  test("go to a step that begins to apply in its order", async () => {
    const { walk, store } = walkThrough([...numbered(1), step("s-why", { condition: ON_NO }), step("s-end")]);
    expect(walk.order.value).toEqual(["s-1", "s-end"]);
    await store.answer("s-1", false);
    walk.next();
    expect(walk.current.value).toBe("s-why");
  });

  test("show the following step when the one on the screen stops to apply, or else the last one", async () => {
    const { walk, store } = walkThrough([...numbered(1), step("s-why", { condition: ON_NO }), step("s-end")]);
    await store.answer("s-1", false);
    walk.go("s-why");
    await store.answer("s-1", true);
    expect(walk.current.value).toBe("s-end");
    expect(placeOf("s-3", ["s-1", "s-2", "s-3"], ["s-1", "s-2"])).toBe("s-2");
    expect(placeOf("s-1", ["s-1"], [])).toBeNull();
  });

  test("stay on the step on the screen when an earlier one is answered", async () => {
    const { walk, store } = walkThrough(numbered(3));
    await store.answer("s-1", true);
    expect(walk.current.value).toBe("s-1");
  });
});

describe("the browser's history", () => {
  test("has an entry for each earlier step, and Back leads to the previous one", () => {
    const { walk } = walkThrough(numbered(5));
    walk.go("s-4");
    expect(walk.depth.value).toBe(3);
    walk.backTo(2);
    expect([walk.current.value, walk.depth.value]).toEqual(["s-3", 2]);
    // A second notice of the same move, before the page was rendered.
    walk.backTo(2);
    expect(walk.current.value).toBe("s-3");
    // The browser may go over several entries at once.
    walk.backTo(0);
    expect([walk.current.value, walk.depth.value]).toEqual(["s-1", 0]);
  });

  test("loses the entry of a step that was left by the button", () => {
    const { walk } = walkThrough(numbered(3));
    walk.next();
    walk.previous();
    expect(walk.depth.value).toBe(0);
  });

  test("has a limited number of entries in a long checklist, and none in the list", () => {
    const { walk } = walkThrough(numbered(300));
    walk.go("s-300");
    expect(walk.depth.value).toBe(12);
    walk.backTo(11);
    expect(walk.current.value).toBe("s-299");
    walk.setLayout("list");
    expect(walk.depth.value).toBe(0);
  });
});

describe("the first step on the screen", () => {
  const steps = [step("s-read", { type: "instruction" }), ...numbered(2), step("s-mind", { type: "instruction" }), step("s-3")];
  const order = steps.map((one) => one.id);

  test("is the first open one with the instructions before it, or the last one", () => {
    const first = (...ids: string[]) => firstOpen(steps, order, new Map(ids.map((id) => [id, answered(true)])));
    expect(first()).toBe("s-read");
    expect(first("s-1")).toBe("s-2");
    expect(first("s-1", "s-2")).toBe("s-mind");
    expect(first("s-1", "s-2", "s-3")).toBe("s-mind");
    expect(firstOpen(steps, order, new Map([["s-1", { ...GIVEN, skipped: true }]]))).toBe("s-2");
  });

  test("is the one that was on the screen before a reload", () => {
    let written = "s-2";
    const { walk } = walkThrough(numbered(3), { read: () => written, write: (id) => void (written = id) });
    expect(walk.current.value).toBe("s-2");
    walk.next();
    expect(written).toBe("s-3");
  });
});

test("one tap completes a single choice that asks for nothing more", () => {
  for (const type of ["boolean", "choice", "rating"] as const) expect(isSingleTap(step("s-1", { type }))).toBe(true);
  for (const type of ["multi_choice", "text", "number", "photo"] as const) expect(isSingleTap(step("s-1", { type }))).toBe(false);
  expect(isSingleTap(step("s-1", { type: "boolean", photo: { min: 0, max: 2 } }))).toBe(false);
  expect(isSingleTap(step("s-1", { type: "boolean", geo: true }))).toBe(false);
});

describe("after a completed step", () => {
  const order = ["s-1", "s-2", "s-3", "s-4"];

  test("comes the next one, and once reviewed, the next gap", () => {
    expect(following(order, "s-2", ["s-4"], false)).toBe("s-3");
    expect(following(order, "s-4", ["s-1"], false)).toBeNull();
    expect(following(order, "s-2", ["s-2", "s-4"], true)).toBe("s-4");
    expect(following(order, "s-4", ["s-1"], true)).toBe("s-1");
    expect(following(order, "s-2", ["s-2"], true)).toBeNull();
  });

  test("the primary action is the next step, and at the end the gaps or the review", () => {
    expect(nextAction(order, "s-2", ["s-1"], false)).toBe("next");
    expect(nextAction(order, "s-4", ["s-1"], false)).toBe("gap");
    expect(nextAction(order, "s-4", [], false)).toBe("review");
    expect(nextAction(order, "s-2", [], true)).toBe("review");
    expect(nextAction([], null, [], false)).toBe("review");
  });
});
