// @vitest-environment happy-dom
/** The command line and the dashboard read the same tables: the vectors are run by both. */
import { describe, expect, it } from "vitest";

import vectors from "../../../../../tests/vectors/dispatch_tables.json";
import { decoded, MalformedFile } from "./cells";
import { bodyOf, type Defaults, readTable } from "./table";

interface Case {
  readonly name: string;
  readonly text: string;
  readonly secret?: boolean;
  readonly copied?: readonly string[];
  readonly rows?: readonly unknown[];
  readonly problems?: readonly unknown[];
}

const NONE: Defaults = { hours: null, url: null, events: ["*"], hasSecret: false };

describe("a table has these rows or these problems", () => {
  it.each(vectors.cases as readonly Case[])("$name", (one) => {
    const table = readTable(one.text, { ...NONE, hasSecret: one.secret ?? false });
    expect(table.problems.map(({ row, column, code }) => [row, column, code])).toEqual(one.problems ?? []);
    if (one.rows === undefined) return;
    expect(table.copied).toEqual(one.copied);
    expect(table.rows.map((row) => [row.number, row.reference, row.hours, row.url, row.events, row.cells])).toEqual(one.rows);
  });
});

it("empty cells get the values of the form", () => {
  const defaults = { hours: 24, url: "https://hooks.example.com/", events: ["run.completed"], hasSecret: true };
  const [first, second] = readTable("reference,expires\na,\nb,30m\n", defaults).rows;
  const webhook = { url: "https://hooks.example.com/", events: ["run.completed"], secret: "s" };
  expect(bodyOf(first!, "t-1", "s")).toEqual({ template_id: "t-1", executor_ref: "a", expires_in_hours: 24, webhook });
  expect(second?.hours).toBe(0.5);
});

it("uploaded files are UTF-8 or UTF-16, and nothing else", () => {
  expect(decoded(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]).buffer)).toBe("a");
  expect(decoded(new Uint8Array([0xff, 0xfe, 0xfc, 0x00]).buffer)).toBe("ü");
  expect(() => decoded(new Uint8Array([0x61, 0xfc]).buffer)).toThrow(MalformedFile);
});
