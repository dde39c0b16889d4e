// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";

import { act, all, one, text } from "../../kit/testing/mount";
import { keptInput } from "../kept_input";
import { createPage, type Page } from "../page";
import { forgetRun } from "../store/last_run";
import type { RunStore } from "../store/types";
import { stepScreen } from "../testing/step_screen";

const OPTIONS = ["One", "Two", "Three"].map((label, index) => ({ id: `o-${index}`, label }));
const SEVERAL = { type: "multi_choice", config: { options: OPTIONS, min_selected: 2 } } as const;
const NUMBER = { type: "number", config: { min: 1, max: 10 } } as const;

/** The page of a run, as after a reload. */
function pageOf(runId: string): (store: RunStore) => Page {
  return (store) => createPage(store, keptInput(`/r/${runId}`));
}

const boxes = (place: HTMLElement) => all<HTMLInputElement>(place, "input[type=checkbox]");
const tick = (place: HTMLElement, index: number) =>
  act(async () => {
    boxes(place)[index]?.click();
    // The store keeps an answer in its own time.
    await new Promise((resolve) => setTimeout(resolve));
  });
const state = (place: HTMLElement) => text(one(place, ".step-state"));

describe("a choice with a minimum", () => {
  test("says what is missing without blame until the person goes on", async () => {
    const { place, store } = await stepScreen(SEVERAL);
    await tick(place, 0);
    expect(all(place, ".error")).toEqual([]);
    expect(one(place, "article").classList).not.toContain("is-wrong");
    expect(state(place)).toBe("Choose at least 2.");
    const elsewhere = place.appendChild(document.createElement("input"));
    await act(() => elsewhere.focus());
    expect(text(one(place, ".error"))).toBe("Choose at least 2.");
    await tick(place, 2);
    expect(all(place, ".error")).toEqual([]);
    expect(store.answers.value.get("s-one")?.value).toEqual(["o-0", "o-2"]);
  });

  test("says so at once after an attempt to submit", async () => {
    const { place, page } = await stepScreen(SEVERAL);
    await tick(place, 0);
    await act(() => page.setTried(true));
    expect(text(one(place, ".error"))).toBe("Choose at least 2.");
  });

  test("keeps the first tick over a reload, and still blocks the submit", async () => {
    const first = await stepScreen(SEVERAL, undefined, pageOf("r-1"));
    await tick(first.place, 1);
    const again = await stepScreen(SEVERAL, undefined, pageOf("r-1"));
    expect(boxes(again.place).map((box) => box.checked)).toEqual([false, true, false]);
    expect(again.page.gaps.value).toEqual(["s-one"]);
    await tick(again.place, 0);
    const last = await stepScreen(SEVERAL, undefined, pageOf("r-1"));
    expect(last.page.held.value.size).toBe(0);
  });
});

test("a number out of range is kept over a reload, with its problem, until the run is deleted from the device", async () => {
  const first = await stepScreen(NUMBER, undefined, pageOf("r-2"));
  const field = one<HTMLInputElement>(first.place, "input[type=text]");
  await act(async () => {
    field.value = "99";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    field.dispatchEvent(new FocusEvent("blur"));
  });
  const again = await stepScreen(NUMBER, undefined, pageOf("r-2"));
  expect(one<HTMLInputElement>(again.place, "input[type=text]").value).toBe("99");
  expect(text(one(again.place, ".error"))).toBe("Enter a value from 1 to 10.");
  forgetRun("r-2");
  expect((await stepScreen(NUMBER, undefined, pageOf("r-2"))).page.held.value.size).toBe(0);
});

test("a number out of range is called wrong only after the press that took the focus from its field", async () => {
  const { place } = await stepScreen(NUMBER);
  const field = one<HTMLInputElement>(place, "input[type=text]");
  await act(() => void place.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })));
  await act(async () => {
    field.value = "99";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    field.dispatchEvent(new FocusEvent("blur"));
  });
  expect(all(place, ".error, .step-state.is-warn")).toEqual([]);
  await act(async () => {
    place.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
    place.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(text(one(place, ".error"))).toBe("Enter a value from 1 to 10.");
  expect(text(one(place, ".step-state.is-warn"))).toBe("Not saved yet. Please check it.");
});
