import { describe, expect, test } from "vitest";

import { promptPieces } from ".";

const PROMPT = "Hi 🚚👋🏽! Tyres left and right ok 🧊 bye";

/** Counts code points, as the service does. */
function part(text: string) {
  const start = Array.from(PROMPT.slice(0, PROMPT.indexOf(text))).length;
  return { start, end: start + Array.from(text).length, text };
}

function pieces(origins: Readonly<Record<string, string | null>>, unused: readonly string[]): string[] {
  const steps = Object.entries(origins).map(([step_id, text]) => ({ step_id, source: text === null ? null : part(text), confidence: 1, unsure: false }));
  const pieces = promptPieces(PROMPT, steps, unused.map(part));
  expect(pieces.map((piece) => piece.text).join("")).toBe(PROMPT);
  return pieces.filter((piece) => piece.unused || piece.steps.length > 0).map((piece) => `${piece.text}=${piece.unused ? "unused" : piece.steps.join("+")}`);
}

describe("the pieces of a prompt", () => {
  test("are cut at code points, also behind an emoji of several", () => {
    expect(pieces({ tyres: "Tyres left" }, ["Hi 🚚👋🏽", "🧊 bye"])).toEqual(["Hi 🚚👋🏽=unused", "Tyres left=tyres", "🧊 bye=unused"]);
  });
  test("name all steps of the same words, and each of words that overlap", () => {
    expect(pieces({ left: "Tyres left", both: "Tyres left and right", right: "right ok", also: "Tyres left" }, [])).toEqual(["Tyres left=left+both+also", " and =both", "right=both+right", " ok=right"]);
  });
  test("are used when only a part of them is not", () => {
    expect(pieces({ tyres: "Tyres left", library: null }, ["left and"])).toEqual(["Tyres =tyres", "left=tyres", " and=unused"]);
  });
  test("are one where nothing is known, and none of an empty prompt", () => {
    expect(promptPieces("🧊", [], [])).toEqual([{ text: "🧊", steps: [], unused: false }]);
    expect(promptPieces("", [], [])).toEqual([]);
    expect(promptPieces("ab", [], [{ start: 1, end: 9, text: "" }]).map((piece) => piece.text)).toEqual(["a", "b"]);
  });
});
