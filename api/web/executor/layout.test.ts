// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { keepOwnLayout, keptPlace, ownLayout } from "./layout";
import { forgetRun } from "./store/last_run";

test("a layout is kept on the device, and an unknown one is none", () => {
  expect(ownLayout()).toBeNull();
  keepOwnLayout("one_at_a_time");
  expect(ownLayout()).toBe("one_at_a_time");
  expect(ownLayout({ getItem: () => "grid" })).toBeNull();
  const blocked = () => {
    throw new Error("blocked");
  };
  expect(ownLayout({ getItem: blocked })).toBeNull();
  keepOwnLayout("list", { setItem: blocked });
  localStorage.clear();
});

test("the step on the screen is kept for a reload, and deleted with the run", () => {
  const place = keptPlace("/r/r-1");
  expect(place.read()).toBeNull();
  place.write("s-3");
  expect(keptPlace("/r/r-1").read()).toBe("s-3");
  forgetRun("r-1");
  expect(place.read()).toBeNull();
});
