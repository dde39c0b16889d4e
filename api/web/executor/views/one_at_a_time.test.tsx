// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Step } from "../../core";
import { act, all, button, mount, one, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { runOf } from "../fixture/checklist";
import { type MemoryStore, memoryStore } from "../fixture/memory_store";
import { createPage, type Page } from "../page";
import { step, template } from "../store/testing/templates";
import { OneAtATime } from "./one_at_a_time";

interface Stage {
  readonly place: HTMLElement;
  readonly page: Page;
  readonly store: MemoryStore;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  localStorage.clear();
});

async function stage(...steps: Step[]): Promise<Stage> {
  const made = runOf(template(steps));
  const run = { ...made, template: { ...made.template, settings: { ...made.template.settings, layout: "one_at_a_time" as const } } };
  const store = memoryStore(run);
  const page = createPage(store);
  const place = await mount(
    <AppContext.Provider value={{ store, page }}>
      <OneAtATime run={run} />
    </AppContext.Provider>,
  );
  return { place, page, store };
}

const asked = (id: string, type: Step["type"] = "boolean", more: Partial<Step> = {}) => step(id, { type, label: id, ...more });
const question = (place: HTMLElement) => text(one(place, "article.step h3"));
const radios = (place: HTMLElement) => all<HTMLInputElement>(place, "input[type=radio]");
const choose = (place: HTMLElement, index: number) => act(async () => radios(place)[index]?.click());
const wait = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));
const press = (element: Element | undefined, key: string) =>
  act(() => void element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));

describe("a single choice", () => {
  test("is shown for a moment, then the next question has the focus", async () => {
    const { place } = await stage(asked("One"), asked("Two"));
    await choose(place, 0);
    await wait(200);
    expect(question(place)).toBe("One");
    await wait(400);
    expect(question(place)).toBe("Two");
    expect(document.activeElement?.id).toBe("Two-label");
  });

  test("that is changed within the moment stays", async () => {
    const { place } = await stage(asked("One"), asked("Two"));
    await choose(place, 0);
    await wait(200);
    await choose(place, 1);
    await wait(1_000);
    expect(question(place)).toBe("One");
  });

  test("by an arrow key stays, until Enter", async () => {
    const { place } = await stage(asked("One"), asked("Two"));
    await press(radios(place)[0], "ArrowDown");
    await choose(place, 1);
    await wait(1_000);
    expect(question(place)).toBe("One");
    await press(radios(place)[1], "Enter");
    expect(question(place)).toBe("Two");
  });

  test("that asks for photos, or was answered before, stays", async () => {
    const { place, store, page } = await stage(asked("One", "boolean", { photo: { min: 0, max: 1 } }), asked("Two"), asked("Three"));
    await choose(place, 0);
    await wait(1_000);
    expect(question(place)).toBe("One");
    await act(async () => {
      await store.answer("Two", true);
      page.walk.next();
    });
    await choose(place, 1);
    await wait(1_000);
    expect(question(place)).toBe("Two");
  });
});

test("a rejected answer keeps the step on the screen, and says why", async () => {
  const { place, page } = await stage(asked("One", "number", { config: { min: 1, max: 10 } }), asked("Two"));
  const field = one<HTMLInputElement>(place, "input.input");
  await act(() => {
    field.value = "99";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.focus();
  await act(() => button(place, "Next").click());
  expect(question(place)).toBe("One");
  expect(page.announcement.value).toBe("Enter a value from 1 to 10.");
  expect(text(one(place, ".error"))).toBe("Enter a value from 1 to 10.");
});

test("a skipped step leads on, and the last one to the review", async () => {
  const { place, store } = await stage(asked("One"), asked("Two"));
  await act(async () => button(place, "Skip: One").click());
  await wait(0);
  expect([question(place), store.answers.value.get("One")?.skipped]).toEqual(["Two", true]);
  expect(button(place, "Previous step").disabled).toBe(false);
  await act(() => button(place, "Check and submit").click());
  expect(store.phase.value).toBe("review");
});

test("once the answers were reviewed, each step leads to the next gap, and then back to the review", async () => {
  const { place, page } = await stage(asked("One"), asked("Two"), asked("Three", "boolean", { required: true }), asked("Four"));
  await act(() => page.setReviewed());
  await act(() => button(place, "1 required step leftGo to next").click());
  await wait(100);
  expect(question(place)).toContain("Three");
  await choose(place, 0);
  await wait(1_000);
  expect(question(place)).toContain("Three");
  expect(text(one(place, ".move-row .button-primary"))).toBe("Check and submit");
});
