// @vitest-environment happy-dom
import "fake-indexeddb/auto";

import { expect, test, vi } from "vitest";

import { openLink } from "./start";

test("another link that is pasted into the address bar is opened, a cut one is not", () => {
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  const reload = vi.spyOn(location, "reload").mockImplementation(() => undefined);
  const paste = (token: string) => {
    history.replaceState(null, "", `#${token}`);
    dispatchEvent(new Event("hashchange"));
    return reload.mock.calls.length;
  };
  history.replaceState(null, "", `/r/r-00000000-0000-4000-8000-000000000001#${"a".repeat(43)}`);
  const store = openLink();
  expect([paste("a".repeat(20)), paste("a".repeat(43)), paste("b".repeat(43))]).toEqual([0, 0, 1]);
  store.close();
});
