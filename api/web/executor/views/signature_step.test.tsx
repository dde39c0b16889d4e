// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { act, all, button, one, text } from "../../kit/testing/mount";
import { photo, stepScreen } from "../testing/step_screen";

const SIGNATURE = { type: "signature", required: true } as const;

const nameOf = (place: HTMLElement) => one<HTMLInputElement>(place, "input[type=text]");

async function draw(place: HTMLElement): Promise<void> {
  vi.spyOn(HTMLCanvasElement.prototype, "toBlob").mockImplementation((done) => done(new Blob(["drawing"], { type: "image/png" })));
  vi.stubGlobal("URL", Object.assign(URL, { createObjectURL: () => "blob:drawing" }));
  const canvas = one(place, "canvas");
  canvas.setPointerCapture = () => undefined;
  await act(async () => {
    canvas.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, button: 0, pointerId: 1 }));
    canvas.dispatchEvent(new PointerEvent("pointerup", { bubbles: true, button: 0, pointerId: 1 }));
    canvas.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    // A page that is left stores the drawing at once.
    document.dispatchEvent(new Event("visibilitychange"));
    await new Promise((resolve) => setTimeout(resolve));
  });
}

test("a drawing without a name asks for the name, in place of an answer", async () => {
  const { place, page } = await stepScreen(SIGNATURE, { photos: [photo("a")] });
  expect(text(one(place, ".step-state"))).toBe("Sign by typing your name.");
  await act(() => page.setTried(true));
  expect(text(one(place, ".error"))).toBe("Sign by typing your name.");
  expect(nameOf(place).getAttribute("aria-invalid")).toBe("true");
  expect(text(one(place, ".field > label"))).toContain("Required");
});

test("a drawing is signed with the name that the person entered at the start", async () => {
  const { place, store } = await stepScreen(SIGNATURE);
  const run = store.run.value;
  if (run === null) throw new Error("The fixture has a run.");
  await act(() => {
    store.run.value = { ...run, executor_identity: { mode: "external", name: "Ida Lindqvist", email: "ida@example.com" } };
  });
  expect(nameOf(place).value).toBe("");
  await draw(place);
  expect(nameOf(place).value).toBe("Ida Lindqvist");
  expect(store.answers.value.get("s-one")).toMatchObject({ value: { name: "Ida Lindqvist" }, photos: [{ state: "sent" }] });
  expect(all(place, ".error")).toEqual([]);
});

test("the button that clears the drawing has its room from the beginning", async () => {
  const { place } = await stepScreen(SIGNATURE);
  expect(button(place, "Clear drawing").classList).toContain("is-reserved");
  await draw(place);
  expect(button(place, "Clear drawing").classList).not.toContain("is-reserved");
});
