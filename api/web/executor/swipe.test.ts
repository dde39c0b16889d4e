import { describe, expect, test } from "vitest";

import { startsAtEdge, swipeOf } from "./swipe";

const at = (x: number, y = 0, time = 0) => ({ x, y, at: time });

describe("a swipe", () => {
  test("towards the end of the line leads back, and right-to-left text mirrors it", () => {
    expect(swipeOf(at(100), at(250), false)).toBe("back");
    expect(swipeOf(at(250), at(100), false)).toBe("forward");
    expect(swipeOf(at(100), at(250), true)).toBe("forward");
    expect(swipeOf(at(250), at(100), true)).toBe("back");
  });

  test("is neither short, nor slow, nor steep", () => {
    expect(swipeOf(at(100), at(140), false)).toBeNull();
    expect(swipeOf(at(100), at(250, 0, 2_000), false)).toBeNull();
    expect(swipeOf(at(100), at(200, 80), false)).toBeNull();
  });

  test("at the edge of the screen is the browser's", () => {
    expect([startsAtEdge(at(4), 390), startsAtEdge(at(386), 390), startsAtEdge(at(60), 390)]).toEqual([true, true, false]);
  });
});
