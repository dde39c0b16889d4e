// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import type { Draft, DraftStep } from "../../../core/authoring";
import { act, all, button, mount, one, text } from "../../../kit/testing/mount";
import { ConditionField } from "./condition_field";
import { EditorState } from "./editor_state";

const OK: DraftStep = { id: "s-ok", type: "boolean", label: "Is the door closed?", required: true };
const HEAT: DraftStep = { id: "s-heat", type: "number", label: "Temperature", required: true };
const WHY: DraftStep = { id: "s-why", type: "text", label: "Why not?", required: true };

function editorOf(...steps: DraftStep[]): EditorState {
  const draft: Draft = { name: "Door", sections: [{ id: "g-1", title: "Kitchen", steps }] };
  return new EditorState({ org: "org-1", key: "new", stored: null, draft, kept: null, readOnly: false });
}

/** The field of the last step, which follows the draft. */
async function field(editor: EditorState) {
  const Field = () => <ConditionField editor={editor} step={editor.steps.value.get("s-why") ?? WHY} error={editor.problems.value[0]?.message} />;
  return mount(<Field />);
}

async function choose(place: HTMLElement, label: string, value: string): Promise<void> {
  const select = one<HTMLSelectElement>(place, `select[aria-label="${label}"]`);
  await act(() => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

const condition = (editor: EditorState) => editor.steps.value.get("s-why")?.condition?.when;

test("a new condition claims nothing until its value is chosen, and cannot be saved before", async () => {
  const send = vi.spyOn(globalThis, "fetch");
  const editor = editorOf(OK, HEAT, WHY);
  const place = await field(editor);
  await act(() => button(place, "Only show it when …").click());
  expect(condition(editor)).toEqual({ step: "s-heat", op: "eq", value: null });
  expect(one<HTMLInputElement>(place, ".value input").value).toBe("");
  expect(editor.broken.value).toEqual([]);

  await act(async () => expect(await editor.save()).toEqual({ kind: "refused" }));
  expect(send).not.toHaveBeenCalled();
  expect(text(one(place, ".error"))).toBe("Finish this condition, or remove it.");
  expect(editor.error.value?.problems).toHaveLength(1);

  await choose(place, "Compared step", "s-ok");
  expect(condition(editor)).toEqual({ step: "s-ok", op: "eq", value: null });
  const answers = one<HTMLSelectElement>(place, 'select[aria-label="Compared value"]');
  expect(answers.selectedOptions[0]?.textContent).toBe("Choose an answer");
  await choose(place, "Compared value", "false");
  expect(condition(editor)).toEqual({ step: "s-ok", op: "eq", value: false });
  expect(all(place, ".error")).toEqual([]);
});

test("of steps that can only be answered or not, one is chosen first", async () => {
  const editor = editorOf({ id: "s-photo", type: "photo", label: "The door" }, WHY);
  const place = await field(editor);
  await act(() => button(place, "Only show it when …").click());
  expect(all(place, "select").map((select) => select.getAttribute("aria-label"))).toEqual(["Compared step"]);
  await choose(place, "Compared step", "s-photo");
  expect(condition(editor)).toEqual({ step: "s-photo", op: "exists", value: true });
});
