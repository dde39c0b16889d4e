// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { addSection, addStep, EMPTY_DRAFT, type Draft } from "../../../core/authoring";
import { act, all, mount } from "../../../kit/testing/mount";
import { EditorState } from "./editor_state";
import { Preview } from "./preview";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Sections that the preview shows, each with the number of its steps. */
function shown(place: HTMLElement): number[] {
  return all(place, ".group:not(.is-empty)").map((group) => all(group, "article").length);
}

async function change(editor: EditorState, draft: Draft): Promise<void> {
  await act(() => {
    editor.change(draft);
  });
  await act(() => void vi.advanceTimersByTime(1_000));
}

test("the preview shows the first step of an empty template and of each new section", async () => {
  const editor = new EditorState({ org: "org-1", key: "new", stored: null, draft: EMPTY_DRAFT, kept: null, readOnly: false });
  const place = await mount(<Preview editor={editor} />);
  expect(shown(place)).toEqual([]);
  await change(editor, addStep(editor.draft.peek(), "boolean", { section: 0, step: 0 }).draft);
  expect(shown(place)).toEqual([1]);
  await change(editor, addSection(editor.draft.peek(), 0).draft);
  expect(shown(place)).toEqual([1]);
  await change(editor, addStep(editor.draft.peek(), "text", { section: 1, step: 0 }).draft);
  expect(shown(place)).toEqual([1, 1]);
});
