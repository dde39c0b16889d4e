import { describe, expect, it } from "vitest";

import { roundedTo } from "./decimals";
import { readNumber } from "./number_input";

function read(text: string, group = ","): number | string {
  const { value, problem } = readNumber(text, group);
  return problem === null ? value : problem.code;
}

describe("a typed number", () => {
  it.each([
    ["5", 5],
    [" -12 ", -12],
    ["\u22123", -3],
    ["+7", 7],
    ["3.5", 3.5],
    ["3,5", 3.5],
    [".5", 0.5],
    [",5", 0.5],
    ["5.", 5],
    ["-0", 0],
    ["0.125", 0.125],
    ["1 234", 1234],
    ["1\u202f234,5", 1234.5],
    ["1’234.5", 1234.5],
    ["٣٫٥", 3.5],
    ["١٬٢٣٤", 1234],
    ["۱۲", 12],
    ["१२", 12],
    ["\u200f-٥", -5],
  ])("%j is %d", (text, value) => {
    expect(read(text)).toBe(value);
  });

  it("is rejected if its comma is ambiguous", () => {
    expect(read("1,234", ",")).toBe("number_ambiguous");
    expect(read("1.234", ".")).toBe("number_ambiguous");
    expect(read("1,234.5", ",")).toBe("number_ambiguous");
    expect(read("1.234.567", ".")).toBe("number_ambiguous");
  });

  it("is accepted if its comma is unambiguous", () => {
    expect(read("1,234", ".")).toBe(1.234);
    expect(read("1.234", ",")).toBe(1.234);
    expect(read("0,125", ",")).toBe(0.125);
    expect(read("1234,567", ",")).toBe(1234.567);
    expect(read("12,34", ",")).toBe(12.34);
  });

  it.each(["", "-", ".", "abc", "5 bar", "1e3", "1-2", "--1", "1.2.3", "1..2", "0x10", "Infinity", "½"])("%j is none", (text) => {
    expect(read(text)).toBe("wrong_type");
  });
});

describe("rounding", () => {
  it("removes rounding errors of binary fractions, and nothing else", () => {
    expect(roundedTo(0.1 + 0.2, 1)).toBe(0.3);
    expect(roundedTo(0.3, 1)).toBe(0.3);
    expect(roundedTo(0.31, 1)).toBeNull();
    expect(roundedTo(-1.005, 2)).toBeNull();
    expect(roundedTo(1e-7, 2)).toBeNull();
    expect(roundedTo(0, 0)).toBe(0);
  });
});
