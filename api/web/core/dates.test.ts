import { expect, test } from "vitest";

import { dateOf, dayAfter, daysBetween, localTimestamp } from "./dates";

const at = (offset: number, iso: string) => {
  const moment = new Date(iso);
  moment.getTimezoneOffset = () => offset;
  return localTimestamp(moment);
};

test("a timestamp has the offset of the device, and begins with its date", () => {
  expect(at(0, "2026-11-21T23:30:00Z")).toBe("2026-11-21T23:30:00.000Z");
  expect(at(-780, "2026-11-21T23:30:00Z")).toBe("2026-11-22T12:30:00.000+13:00");
  expect(at(480, "2026-11-22T07:30:00.250Z")).toBe("2026-11-21T23:30:00.250-08:00");
  expect(at(-345, "2026-11-21T12:00:00Z")).toBe("2026-11-21T17:45:00.000+05:45");
  expect(dateOf(at(-780, "2026-11-21T23:30:00Z"))).toBe("2026-11-22");
  expect(Date.parse(at(-345, "2026-11-21T12:00:00Z"))).toBe(Date.parse("2026-11-21T12:00:00Z"));
});

test("days are counted by the calendar", () => {
  expect([daysBetween("2026-11-21", "2026-11-21"), daysBetween("2024-02-28", "2024-03-01"), daysBetween("2026-01-01", "2025-12-31")]).toEqual([0, 2, -1]);
  expect(daysBetween("2026-02-30", "2026-03-01")).toBeNull();
  expect([dayAfter("2024-02-28", 2), dayAfter("2026-11-21", -21), dayAfter("0001-01-01", -1), dayAfter("9999-12-31", 1)]).toEqual(["2024-03-01", "2026-10-31", null, null]);
});
