import { describe, expect, it } from "vitest";

import type { Delivery } from "./deliveries_types";
import { distanceText, placeMap } from "./run_places";
import { eventsText, timelineOf, troubled, unanswered } from "./run_timeline";
import type { RunStory, StoryStep } from "./runs_types";

const at = (second: number) => new Date(Date.UTC(2026, 10, 27, 12, 0, second)).toISOString();
const step = (id: string, state: StoryStep["state"] = "answered"): StoryStep => ({ id, type: "boolean", label: id, required: true, geo: false, state, expected: "", display: "Yes", revision: 1 });
const answer = (second: number) => ({ value: true, photos: [], geo: null, at: at(second), by: null });
const event = (seq: number, second: number | null, status: Delivery["status"] = "delivered", made = 1): Delivery =>
  ({ event_id: `evt-${seq}`, event: "step.completed", seq, ts: second === null ? null : at(second), status, attempts_made: made }) as Delivery;

const STORY = {
  status: "completed",
  created_at: at(0),
  completed_at: at(30),
  cancelled_at: null,
  expires_at: null,
  assigned_to: "u-1",
  executor_identity: { mode: "member", user_id: "u-1" },
  signature: { name: "Ada", signed_at: at(29) },
  sections: [{ id: "g-1", title: "All", steps: [step("late"), step("early"), step("gone", "not_applicable"), step("skipped", "skipped"), step("said", "instruction")] }],
  answers: { late: answer(20), early: answer(10), gone: answer(5) },
} as unknown as RunStory;

const keys = (story: RunStory, deliveries: readonly Delivery[] = []) => timelineOf(story, deliveries).map((item) => item.key);

describe("the timeline of a run", () => {
  it("is in the order in which things happened, not in that of the checklist", () => {
    expect(keys(STORY)).toEqual(["dispatched", "opened", "early", "late", "signed", "ended"]);
  });

  it("puts events after what caused them, and joins neighbours", () => {
    const items = timelineOf(STORY, [event(1, 10), event(2, 20), event(3, 30), event(4, null)]);
    expect(items.map((item) => (item.kind === "events" ? item.deliveries.map(({ seq }) => seq) : item.key))).toEqual(["dispatched", "opened", "early", [1], "late", [2], "signed", "ended", [3, 4]]);
  });

  it("ends an open run with what it waits for, whatever its expiry", () => {
    expect(keys({ ...STORY, status: "in_progress", completed_at: null, signature: null, expires_at: at(1) }, [event(1, 40)]).at(-1)).toBe("ended");
  });

  it("says of folded events how many need attention", () => {
    expect(eventsText([event(1, 1)])).toBe("step.completed, delivered");
    expect(eventsText([event(1, 1, "failed")])).toBe("step.completed, failed");
    expect(eventsText([event(1, 1), event(2, 2)])).toBe("2 events, all delivered");
    expect(eventsText([event(1, 1, "failed"), event(2, 2, "pending"), event(3, 3)])).toBe("3 events, 1 failed, 1 waiting");
  });

  it("lists steps without an answer, and deliveries with a failed attempt", () => {
    expect(unanswered(STORY)).toMatchObject([{ title: "All", steps: [{ id: "gone" }, { id: "skipped" }] }]);
    expect(troubled([event(1, 1), event(2, 1, "failed", 5), event(3, 1, "pending", 0), event(4, 1, "pending", 2)]).map(({ seq }) => seq)).toEqual([2, 4]);
  });
});

describe("the small map", () => {
  const berlin = { lat: 52.5163, lng: 13.3777, accuracy_m: 8 };

  it("has one place in its middle, at a scale that shows its surroundings", () => {
    const { spots, bar, metres } = placeMap([berlin], 300, 200);
    expect(spots[0]).toMatchObject({ x: 150, y: 100 });
    expect(metres).toBe(20);
    expect(spots[0]?.radius).toBeCloseTo((8 * bar) / metres);
  });

  it("has north above, east on the right, and distances that are true", () => {
    const { spots, bar, metres } = placeMap([berlin, { lat: 52.5173, lng: 13.3777, accuracy_m: null }, { ...berlin, lng: 13.3792 }], 300, 200);
    const [here, north, east] = spots as [(typeof spots)[0], (typeof spots)[0], (typeof spots)[0]];
    expect(north.y).toBeLessThan(here.y);
    expect(east.x).toBeGreaterThan(here.x);
    expect((here.y - north.y) / (bar / metres)).toBeCloseTo(111.3, 0);
    expect(north.radius).toBeNull();
    for (const { x, y } of spots) expect(x > 0 && x < 300 && y > 0 && y < 200).toBe(true);
  });

  it("crosses the date line by the short way", () => {
    const { metres } = placeMap([{ lat: 0, lng: 179.9999, accuracy_m: 5 }, { lat: 0, lng: -179.9999, accuracy_m: 5 }], 300, 200);
    expect(metres).toBeLessThan(100);
  });

  it("names its scale", () => {
    expect([0.5, 20, 2_000].map(distanceText)).toEqual(["50 cm", "20 m", "2 km"]);
  });
});
