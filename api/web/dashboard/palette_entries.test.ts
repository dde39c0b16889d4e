import { describe, expect, it } from "vitest";

import { type Found, groupsOf } from "./palette_entries";
import type { Role } from "./session";

const RANKS: Record<Role, number> = { viewer: 0, editor: 1, admin: 2 };
const as = (own: Role) => (role: Role) => RANKS[own] >= RANKS[role];
const status = (word: string) => word.toUpperCase();
const titles = (text: string, role: Role = "admin", found: Found | null = null) =>
  Object.fromEntries(groupsOf(text, found, as(role), status).map((group) => [group.title, group.entries.map((entry) => entry.title)]));

const FOUND: Found = {
  runs: [{ run_id: "r-1", status: "pending", template_name: "Fridge check", executor_ref: "order 1", created_at: "2026-11-27T00:00:00Z" }],
  templates: [{ id: "t-1", name: "Fridge check", step_count: 1 }],
  searched_all: true,
  searched: 5_000,
};

describe("the command palette", () => {
  it("offers only what the role may do", () => {
    expect(titles("", "viewer")["Actions"]).toBeUndefined();
    expect(titles("", "viewer")["Pages"]).not.toContain("Audit");
    expect(titles("", "editor")["Actions"]).not.toContain("New API key");
    expect(titles("", "admin")["Actions"]).toContain("New API key");
  });

  it("finds actions and pages by every word, in any order", () => {
    expect(titles("template new")["Actions"]).toEqual(["New template"]);
    expect(titles("RETRY")["Actions"]).toEqual(["Replay failed deliveries"]);
    expect(titles("aud")).toEqual({ Pages: ["Audit"] });
    expect(titles("nothing of this name")).toEqual({});
  });

  it("puts what the service found first, with what tells runs apart", () => {
    const [runs, templates] = groupsOf("fridge", FOUND, as("viewer"), status);
    expect(runs).toMatchObject({ title: "Runs", entries: [{ note: "order 1 · PENDING", to: "runs/r-1" }] });
    expect(templates).toMatchObject({ title: "Templates", entries: [{ note: "1 step", to: "templates/t-1" }] });
  });
});
