import { describe, expect, test } from "vitest";

import { lineDifference } from ".";

const lines = (count: number, change: Readonly<Record<number, string | null>> = {}) =>
  Array.from({ length: count }, (_, index) => (index in change ? change[index] : `line ${index}`))
    .filter((line) => line !== null)
    .join("\n");
const rendered = (before: string, after: string) => lineDifference(before, after).map((block) => block.map((line) => ({ same: " ", added: "+", removed: "-" })[line.kind] + line.text).join("\n"));

describe("a difference line by line", () => {
  test("shows what changed with three lines around it", () => {
    expect(rendered(lines(20), lines(20, { 10: "other" }))).toEqual([" line 7\n line 8\n line 9\n-line 10\n+other\n line 11\n line 12\n line 13"]);
  });
  test("has a block for each place, and one for places that touch", () => {
    expect(rendered(lines(40), lines(40, { 5: "a", 30: "b" }))).toHaveLength(2);
    expect(rendered(lines(40), lines(40, { 5: "a", 12: "b" }))).toHaveLength(1);
    expect(rendered(lines(40), lines(40, { 5: "a", 13: "b" }))).toHaveLength(2);
  });
  test("is empty for equal texts, and shows added and removed lines", () => {
    expect(rendered(lines(9), lines(9))).toEqual([]);
    expect(rendered(lines(3), lines(3, { 1: null }))).toEqual([" line 0\n-line 1\n line 2"]);
    expect(rendered("a", "a\nb")).toEqual([" a\n+b"]);
  });
  test("of very long texts is shown as a whole", () => {
    const [block] = lineDifference(lines(3_000), lines(3_000).replaceAll("line", "row"));
    expect(block).toHaveLength(6_000);
  });
});
