// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";

import type { Step } from "../../core";
import { act, all, one, text } from "../../kit/testing/mount";
import { photo, stepScreen } from "../testing/step_screen";

const DOOR: Partial<Step> = { type: "boolean", config: { expected: true, on_flag: { note: true, photos: { min: 1, max: 2 } } } };
const FLAGGED = { value: false, flagged: true };
const boxes = (place: HTMLElement, part: string) => all(place, part).length;

describe("an answer outside what is expected", () => {
  test("is marked with what is expected, and asks for what the step needs then", async () => {
    const { place } = await stepScreen(DOOR, FLAGGED);
    expect(text(one(place, ".message"))).toContain("Not as expected");
    expect(text(one(place, ".message"))).toContain("Expected: Yes");
    expect(one(place, "textarea").getAttribute("aria-required")).toBe("true");
    expect(text(one(place, ".photo-count"))).toContain("1 photo needed");
    expect(text(one(place, ".step-state"))).toBe("Add a note about this answer.");
    expect(one(place, "article").classList).not.toContain("is-wrong");
  });

  test("says that the photo is missing once there is a note, and is an error only after an attempt to submit", async () => {
    const { place, page } = await stepScreen(DOOR, { ...FLAGGED, note: "It hangs." });
    expect(text(one(place, ".step-state"))).toBe("1 more photo needed.");
    await act(() => page.setTried(true));
    expect(text(one(place, ".error"))).toBe("1 more photo needed.");
  });

  test("is complete with both", async () => {
    const { place, store } = await stepScreen(DOOR, { ...FLAGGED, note: "It hangs.", photos: [photo("a")] });
    expect(text(one(place, ".step-state"))).toBe("Saved");
    expect(store.missing.value).toEqual([]);
  });

  test("only says so where the step asks for nothing", async () => {
    const { place, store } = await stepScreen({ type: "rating", config: { expected: { min: 3 } } }, { value: 1, flagged: true });
    expect(text(one(place, ".message"))).toContain("Expected: 3 or more");
    expect([boxes(place, "textarea"), boxes(place, ".photos")]).toEqual([0, 0]);
    expect(store.missing.value).toEqual([]);
  });
});

describe("an answer as expected", () => {
  test("shows no mark", async () => {
    const { place } = await stepScreen(DOOR, { value: true });
    expect([boxes(place, ".message"), boxes(place, "textarea"), boxes(place, ".photos")]).toEqual([0, 0, 0]);
  });

  test("keeps photos that were asked for before, so that they can be removed", async () => {
    const { place } = await stepScreen(DOOR, { value: true, photos: [photo("a")] });
    expect(boxes(place, ".photos")).toBe(1);
  });
});

test("without a question there is nothing to mark: a skipped answer", async () => {
  const { place } = await stepScreen(DOOR, { ...FLAGGED, value: null, skipped: true });
  expect(boxes(place, ".message")).toBe(0);
});

test("the limits of a number with an expected range are named only when they are exceeded", async () => {
  const limits = { min: -30, max: 50, decimal: 1 };
  const plain = await stepScreen({ type: "number", config: limits });
  expect(text(one(plain.place, ".hint"))).toBe("From -30 to 50 · Up to 1 decimal place");
  const { place } = await stepScreen({ type: "number", config: { ...limits, expected: { max: 5 } } });
  expect(text(one(place, ".hint"))).toBe("Up to 1 decimal place");
  const field = one<HTMLInputElement>(place, "input[type=text]");
  await act(async () => {
    field.value = "99";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    field.dispatchEvent(new FocusEvent("blur"));
  });
  expect(text(one(place, ".error"))).toBe("Enter a value from -30 to 50.");
});
