import { signal } from "@preact/signals";
import { describe, expect, test } from "vitest";

import { createPage, nextGap } from "./page";
import type { RunStore } from "./store/types";

const ORDER = ["s-a", "s-b", "s-c", "s-d"];

function pageOf(missing: string[], applicable = ORDER) {
  const steps = ORDER.map((id) => ({ id, type: "text", photo: false }));
  const store = {
    run: signal({ template: { sections: [{ steps }] } }),
    answers: signal(new Map()),
    missing: signal(missing),
    applicable: signal(new Set(applicable)),
  };
  return createPage(store as unknown as RunStore);
}

describe("the next missing step", () => {
  test("follows the current one, in the order of the checklist", () => {
    expect(nextGap(["s-b", "s-d"], ORDER, "s-b")).toBe("s-d");
  });

  test("wraps around after the last one", () => {
    expect(nextGap(["s-b", "s-d"], ORDER, "s-d")).toBe("s-b");
  });

  test("follows a step that has just been answered", () => {
    expect(nextGap(["s-a", "s-d"], ORDER, "s-b")).toBe("s-d");
  });

  test("is null if nothing is missing", () => {
    expect(nextGap([], ORDER, null)).toBeNull();
  });
});

describe("gaps", () => {
  const problem = { path: "value", code: "out_of_range" };

  test("rejected input counts as a missing step, in order", () => {
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
