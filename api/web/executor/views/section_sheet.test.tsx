// @vitest-environment happy-dom
import { beforeEach, describe, expect, test } from "vitest";

import { act, all, button, mount, one, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { longDefinition, runOf } from "../fixture/checklist";
import { memoryStore } from "../fixture/memory_store";
import { createPage } from "../page";
import { SectionSheet } from "./section_sheet";

beforeEach(() => localStorage.setItem("checklist.layout", "one_at_a_time"));

async function sheet(count = 50) {
  const run = runOf(longDefinition(count));
  const store = memoryStore(run);
  const page = createPage(store);
  let closed = 0;
  const place = await mount(
    <AppContext.Provider value={{ store, page }}>
      <SectionSheet run={run} onClose={() => (closed += 1)} />
    </AppContext.Provider>,
  );
  return { place, store, page, closed: () => closed };
}

const rows = (place: HTMLElement) => all(place, ".sheet-row").map((row) => text(row));
const type = (place: HTMLElement, query: string) =>
  act(() => {
    const field = one<HTMLInputElement>(place, "input[type=search]");
    field.value = query;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });

describe("all steps", () => {
  test("are in their sections with how many are done, and the one on the screen is marked", async () => {
    const { place, store } = await sheet();
    await act(() => store.answer("s-0", true));
    await act(() => store.skip("s-3"));
    expect(all(place, ".sheet-head").map((head) => text(head))).toEqual(["Part 1 2 of 25", "Part 2 0 of 25"]);
    expect(rows(place).slice(0, 4)).toEqual(["Step 1, Answered", "Step 2, To do", "Step 3, To do", "Step 4, Skipped"]);
    expect(text(one(place, "[aria-current=step]"))).toBe("Step 1, Answered");
    expect(rows(place)).toHaveLength(25);
    await act(() => one(place, ".sheet-section:last-of-type .sheet-head").click());
    expect(rows(place)).toHaveLength(50);
  });

  test("are found by words, and only the open ones if the person wants", async () => {
    const { place, store } = await sheet();
    await act(() => store.answer("s-29", 4));
    await type(place, "step 3");
    expect(rows(place)).toHaveLength(14);
    expect(text(one(place, "[role=status]"))).toBe("14 steps");
    await act(() => one<HTMLInputElement>(place, "input[type=checkbox]").click());
    expect(rows(place)).not.toContain("Step 30, Answered");
    expect(rows(place)).toHaveLength(13);
    await type(place, "nothing of this");
    expect(place.textContent).toContain("No step matches “nothing of this”.");
  });

  test("lead to the step", async () => {
    const { place, page, closed } = await sheet();
    await type(place, "step 42");
    await act(() => button(place, "Step 42, To do").click());
    expect([page.walk.current.value, closed()]).toEqual(["s-41", 1]);
  });
});
