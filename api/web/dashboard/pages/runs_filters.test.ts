// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";

import { filtersOf, otherFilters } from "./runs_filters";

const NOW = Date.parse("2026-11-27T12:00:00Z");
const read = (address: string) => Object.fromEntries(new URLSearchParams(filtersOf(new URLSearchParams(address), NOW)));

describe("the filters in the address", () => {
  it("bound the expiry by the time at which the list was opened", () => {
    expect(read("status=open&expires=soon")).toEqual({ status: "open", expires_after: "2026-11-27T12:00:00.000Z", expires_before: "2026-11-28T12:00:00.000Z" });
    expect(read("expires=lately")).toEqual({ expires_after: "2026-11-26T12:00:00.000Z", expires_before: "2026-11-27T12:00:00.000Z" });
  });

  it("include what happened at midnight of the first day", () => {
    const midnight = new Date(2026, 10, 27).getTime();
    expect(Date.parse(read("completed=2026-11-27")["completed_after"] ?? "")).toBe(midnight - 1);
    expect(Date.parse(read("from=2026-11-27")["created_after"] ?? "")).toBe(midnight - 1);
  });

  it("are shown even where they have no field, and ignored where they are wrong", () => {
    const titles = otherFilters(new URLSearchParams("expires=soon&completed=2026-11-27")).map(({ title }) => title);
    expect(titles).toEqual(["Completed since 27 Nov 2026", "Expires within 24 hours"]);
    expect(otherFilters(new URLSearchParams("expires=never&completed=yesterday"))).toEqual([]);
    expect(read("expires=never&completed=yesterday")).toEqual({});
  });
});
