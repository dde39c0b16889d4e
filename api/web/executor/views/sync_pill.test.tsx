// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { act, all, button, mount, one, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { stateNamed } from "../fixture/states";
import { createPage } from "../page";
import { SyncPill } from "./sync_pill";

async function opened(state: string) {
  const store = stateNamed(state, 0);
  const retry = vi.spyOn(store, "retry");
  const place = await mount(
    <AppContext.Provider value={{ store, page: createPage(store) }}>
      <SyncPill />
    </AppContext.Provider>,
  );
  await act(() => one(place, ".pill").click());
  return { place, store, retry };
}

test("a tap offline says what waits and that it is safe, and offers another attempt", async () => {
  const { place, store, retry } = await opened("pending");
  const dialog = one(place, "dialog");
  expect(text(one(dialog, "h2"))).toBe("Offline: 3 waiting");
  expect(text(dialog)).toContain("You can keep going. Your answers are saved on this device");
  // Of the three changes, two are photos.
  expect(all(dialog, "dd").map(text)).toEqual(["1", "2"]);
  expect(retry).toHaveBeenCalledTimes(1);
  await act(() => button(dialog, "Try again now").click());
  expect(retry).toHaveBeenCalledTimes(2);
  await act(() => {
    store.sync.value = { state: "saved", waiting: 0 };
  });
  expect(text(dialog)).toContain("All your answers have arrived.");
  expect(all(dialog, "dl, .dialog-foot")).toEqual([]);
});

test("a tap on a state that a notice explains opens no dialog", async () => {
  const { place, retry } = await opened("attention");
  expect(all(place, "dialog")).toEqual([]);
  expect(retry).toHaveBeenCalledTimes(1);
});
