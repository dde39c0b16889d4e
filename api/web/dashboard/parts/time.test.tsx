// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { mount, text } from "../../kit/testing/mount";
import { LastUse, Time } from "./time";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

test.each([
  [0, "within the last hour"],
  [20, "within the last hour"],
  [59, "within the last hour"],
  [125, "2 hours ago"],
])("a use that was stored %s minutes ago", async (minutes, shown) => {
  const place = await mount(<LastUse at={ago(minutes)} />);
  expect(text(place)).toMatch(new RegExp(`^${shown}`));
});

test("days are those of the calendar", async () => {
  const noon = new Date();
  noon.setHours(12, 0, 0, 0);
  const inDays = (days: number, hour: number) => new Date(noon.getFullYear(), noon.getMonth(), noon.getDate() + days, hour);
  const shown = async (at: Date) => text(await mount(<Time at={at.toISOString()} />));
  expect(await shown(inDays(2, 23))).toMatch(/^in 2 days/);
  expect(await shown(inDays(-2, 1))).toMatch(/^2 days ago/);
});
