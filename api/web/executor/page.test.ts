import { signal } from "@preact/signals";
import { describe, expect, test } from "vitest";

import { createPage, nextGap } from "./page";
import type { RunStore } from "./store/types";

const ORDER = ["s-a", "s-b", "s-c", "s-d"];

function pageOf(missing: string[], applicable = ORDER) {
  const steps = ORDER.map((id) => ({ id }));
  const store = {
    run: signal({ template: { sections: [{ steps }] } }),
    missing: signal(missing),
    applicable: signal(new Set(applicable)),
  };
  return createPage(store as unknown as RunStore);
}

describe("the way from gap to gap", () => {
  test("it goes on from where it was, in the order of the checklist", () => {
    expect(nextGap(["s-b", "s-d"], ORDER, "s-b")).toBe("s-d");
  });

  test("it begins again after the last one", () => {
    expect(nextGap(["s-b", "s-d"], ORDER, "s-d")).toBe("s-b");
  });

  test("it goes on from a step that has been answered meanwhile", () => {
    expect(nextGap(["s-a", "s-d"], ORDER, "s-b")).toBe("s-d");
  });

  test("without gaps it leads nowhere", () => {
    expect(nextGap([], ORDER, null)).toBeNull();
  });
});

describe("gaps", () => {
  const problem = { path: "value", code: "out_of_range" };

  test("an answer that cannot be kept is a gap like a missing one, at its place", () => {
    const page = pageOf(["s-c"]);
    page.hold("s-b", { value: 99, problem });
    expect(page.gaps.value).toEqual(["s-b", "s-c"]);
    page.hold("s-b", null);
    expect(page.gaps.value).toEqual(["s-c"]);
  });

  test("a step that no longer applies is none", () => {
    const page = pageOf([], ["s-a"]);
    page.hold("s-b", { value: 99, problem });
    expect(page.gaps.value).toEqual([]);
  });
});

test("a repeated announcement is made different, so that it is read again", () => {
  const page = pageOf([]);
  page.announce("A new step appeared");
  const first = page.announcement.value;
  page.announce("A new step appeared");
  expect(page.announcement.value).not.toBe(first);
});
