// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";

import { act, mount, one } from "../../../kit/testing/mount";
import { EditorState } from "./editor_state";
import { JsonView } from "./json_view";
import { readKept } from "./kept_draft";

const DRAFT = { name: "A", sections: [{ id: "g-1", title: "One", steps: [] }] };
const STORED = { id: "t-1", v: 1, updatedAt: "", managedBy: null, draft: DRAFT };
const json = (more: object) => JSON.stringify({ ...DRAFT, ...more }, null, 2);

/** Answers the request that waits. */
let answer: (response: Response) => void = () => undefined;
beforeEach(() => void vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (answer = resolve))));

const editing = (stored: typeof STORED | null) => new EditorState({ org: "org-1", key: "k", stored, draft: DRAFT, kept: null, readOnly: false });
const saved = (v: number, name: string) => answer(Response.json({ id: "t-1", v, updated_at: "", managed_by: null, ...DRAFT, name }));

test("what is typed as JSON during a save stays, as an unsaved edit", async () => {
  const editor = editing(STORED);
  editor.write(json({ name: "B" }));
  const saving = editor.save();
  editor.write(json({ name: "C" }));
  const halfway = json({ name: "C" }).replace("}", ', "tags": ["kitch');
  editor.write(halfway);
  saved(2, "B");
  expect((await saving).kind).toBe("saved");
  expect([editor.text.value, editor.draft.value.name, editor.dirty.value]).toEqual([halfway, "C", true]);
});

test("what is typed without a pause is saved, and stays if it is typed during the save", async () => {
  const editor = editing(STORED);
  const area = one<HTMLTextAreaElement>(await mount(<JsonView editor={editor} />), "textarea");
  const type = (text: string) =>
    act(() => {
      area.value = text;
      area.dispatchEvent(new Event("input", { bubbles: true }));
    });
  await type(json({ name: "B" }));
  const saving = editor.save();
  expect(editor.draft.value.name).toBe("B");
  await type(json({ name: "C" }));
  await act(async () => {
    saved(2, "B");
    await saving;
  });
  expect([area.value, editor.draft.value.name, editor.dirty.value]).toEqual([json({ name: "C" }), "C", true]);
});

test("what is changed during the first save is kept for the page of the template", async () => {
  const editor = editing(null);
  const [stop, saving] = [editor.persist(), editor.save()];
  editor.change({ ...DRAFT, name: "B" });
  saved(1, "A");
  await saving;
  expect(editor.keepAs("k.t-1")).toBe(true);
  stop();
  expect(readKept("k.t-1")).toMatchObject({ v: 1, base: { name: "A" }, draft: { name: "B" } });
  expect(readKept("k")).toBeNull();
});

test("a conflict with another person's version discards no JSON that is not a template yet", async () => {
  const editor = editing(STORED);
  editor.write("{");
  const looking = editor.refresh();
  saved(2, "Theirs");
  await looking;
  expect(editor.conflict.value?.v).toBe(2);
  editor.applyMerged(new Map());
  expect([editor.text.value, editor.conflict.value?.v, editor.error.value?.code]).toEqual(["{", 2, "broken_json"]);
  editor.overwrite();
  expect([editor.text.value, editor.conflict.value, (await editor.save()).kind]).toEqual(["{", null, "refused"]);
});
