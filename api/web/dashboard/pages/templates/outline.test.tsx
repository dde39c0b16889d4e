// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { EMPTY_DRAFT } from "../../../core/authoring";
import { act, all, button, mount } from "../../../kit/testing/mount";
import { EditorState } from "./editor_state";
import { Outline } from "./outline";

test("a section has the title that it shows, until another is typed over it", async () => {
  const editor = new EditorState({ org: "org-1", key: "new", stored: null, draft: EMPTY_DRAFT, kept: null, readOnly: false });
  const place = await mount(<Outline editor={editor} />);
  await act(() => button(place, "Add a section").click());
  const fields = all<HTMLInputElement>(place, ".section-line input");
  expect(fields.map((field) => field.value)).toEqual(["Section 1", "Section 2"]);
  expect(fields.map((field) => field.placeholder)).toEqual(["", ""]);
  expect(editor.draft.value.sections.map((section) => section.title)).toEqual(["Section 1", "Section 2"]);
  const [field] = fields;
  field?.focus();
  expect([field?.selectionStart, field?.selectionEnd]).toEqual([0, "Section 1".length]);
});
