import { describe, expect, it } from "vitest";

import { dayOf, figuresOf, type Overview } from "./overview_figures";

const OVERVIEW: Overview = {
  since: "2026-11-27T00:00:00Z",
  runs: { dispatched: 3, completed: 1, open: 10_000, expiring: 2, expired: 0, flagged: 1 },
  counted_up_to: 10_000,
  failed_deliveries: 12_345,
  failing_endpoints: { total: 0, data: [] },
  templates: [],
  archive: null,
};

describe("the figures of the overview", () => {
  const figures = Object.fromEntries(figuresOf(OVERVIEW, { today: "2026-11-27", weekAgo: "2026-11-21" }).map((figure) => [figure.key, figure]));

  it("lead to the list that they count", () => {
    expect(figures["dispatched"]?.to).toBe("runs?from=2026-11-27");
    expect(figures["completed"]?.to).toBe("runs?status=completed&completed=2026-11-27");
    expect(figures["flagged"]?.to).toBe("runs?flagged=true&from=2026-11-21");
    expect(figures["expiring"]?.to).toBe("runs?status=open&expires=soon");
  });

  it("say where counting stopped, and only there", () => {
    expect(figures["open"]?.text).toBe("10,000+");
    expect(figures["failed"]?.text).toBe("12,345");
    expect(figures["dispatched"]?.text).toBe("3");
  });

  it("ask for attention only above zero", () => {
    expect([figures["expiring"]?.tone, figures["expired"]?.tone, figures["failed"]?.tone]).toEqual(["warn", "plain", "bad"]);
  });
});

describe("today", () => {
  it("begins at the reader's midnight, and the week six days before", () => {
    const { since, today, weekAgo } = dayOf(new Date(2026, 10, 7, 23, 59).getTime());
    expect(new Date(since).getTime()).toBe(new Date(2026, 10, 7).getTime());
    expect(today).toBe("2026-11-07");
    expect(weekAgo).toBe("2026-11-01");
  });
});
