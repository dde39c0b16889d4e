// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { act, all, button, mount, one, text } from "../../kit/testing/mount";
import { listOf, signedIn } from "../testing/signed_in";
import { DispatchPage } from "./dispatch";

const TEMPLATES = Array.from({ length: 12 }, (_, index) => ({ id: `t-${index}`, name: `Checklist ${index}`, description: "", tags: [], v: 1 }));

function respond(method: string, path: string): Response {
  if (path === "usage") return Response.json({ limit_reached: null });
  if (method === "GET") return listOf(TEMPLATES);
  const details = [{ path: "template_id", code: "missing", message: "This field is required." }];
  return Response.json({ error: "validation_failed", message: "Not valid.", details }, { status: 422 });
}

test("dispatching without a template says so above the templates, with the focus there, until one is chosen", async () => {
  signedIn("runs/new", respond);
  const place = await mount(<DispatchPage />);
  await vi.waitFor(() => one(place, ".template-choice"));
  const seen = vi.spyOn(Element.prototype, "scrollIntoView").mockImplementation(function (this: Element) {
    expect(text(this)).toBe("Choose the checklist to dispatch.");
  });
  button(place, "Dispatch").click();
  const choice = one(place, ".template-choice");
  const error = await vi.waitFor(() => one(choice, ".error"));
  expect(text(error)).toBe("Choose the checklist to dispatch.");
  const [radio] = all<HTMLInputElement>(choice, "input[type=radio]");
  expect(error.compareDocumentPosition(radio as Node) & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
  expect(choice.getAttribute("aria-describedby")).toBe(error.id);
  await vi.waitFor(() => expect(document.activeElement).toBe(radio));
  expect(seen).toHaveBeenCalledOnce();
  await act(() => radio?.click());
  expect(all(choice, ".error")).toEqual([]);
});
