import "fake-indexeddb/auto";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { always, image, Rig } from "./testing/rig";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.close());

type Sent = { readonly path: string; readonly body: unknown };

/** The times that a request carries, in order. */
function given({ path, body }: Sent): (string | null)[] {
  const inAddress = new URL(path, "https://host").searchParams.get("given_at");
  if (inAddress !== null) return [inAddress];
  const json = body as { operations?: { given_at?: string }[]; given_at?: string } | null;
  return json?.operations?.map((operation) => operation.given_at ?? null) ?? [json?.given_at ?? null];
}

const sent = (path: string) => rig.service.calls.filter((call) => call.method !== "GET" && call.path.startsWith(path));
const at = (ms: number) => new Date(ms).toISOString();

describe("the time of an answer", () => {
  test.each([0, 3_600_000, -86_400_000])("is that of giving by the server's clock, on a device %i ms ahead, across a reload", async (skewMs) => {
    const first = await rig.visit({ skewMs });
    const start = rig.time.ms;
    rig.service.outcome = always("lost_request");
    await first.answer("s-a", "warm");
    await rig.time.pass(600_000);
    await first.skip("s-b");
    await rig.time.pass(600_000);
    await first.addPhoto("s-photo", image());
    first.close();
    const calls = rig.service.calls.length;
    await rig.visit({ skewMs, token: null });
    await rig.time.pass(600_000);
    rig.service.calls.splice(0, calls);
    rig.service.outcome = always("ok");
    await rig.time.pass(120_000);
    const times = [...sent("/operations"), ...sent("/answers/s-photo/photos")].flatMap(given).map((time) => Date.parse(time ?? ""));
    expect(times).toHaveLength(3);
    for (const [place, time] of times.entries()) {
      expect(Math.abs(time - (start + place * 600_000)), `operation ${place}`).toBeLessThanOrEqual(1_000);
    }
  });

  test("is sent with every kind of answer, and is the same when it is sent again", async () => {
    const store = await rig.visit();
    const start = rig.time.ms;
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.answer("s-a", "warm");
    await rig.time.pass(5_000);
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    const answers = sent("/answers/s-a");
    expect(answers.length).toBeGreaterThan(1);
    expect(new Set(answers.flatMap(given))).toEqual(new Set([at(start)]));
    const skipped = rig.time.ms;
    await store.skip("s-b");
    await store.addPhoto("s-photo", image());
    await rig.time.pass(1_000);
    expect(sent("/steps/s-b/skip").flatMap(given)).toEqual([at(skipped)]);
    expect(sent("/answers/s-photo/photos").flatMap(given)).toEqual([at(skipped)]);
  });

  test("is left out where a clock is beyond all years that can be read", async () => {
    const skewMs = Date.parse("+012026-01-01T00:00:00Z") - rig.time.ms;
    rig.service.outcome = always("lost_request");
    const blind = await rig.visit({ skewMs });
    rig.service.outcome = always("ok");
    await rig.time.pass(120_000);
    await blind.answer("s-a", "warm");
    await rig.time.pass(5_000);
    const [time] = sent("/answers/s-a").flatMap(given);
    expect(Math.abs(Date.parse(time ?? "") - rig.time.ms)).toBeLessThanOrEqual(10_000);
  });
});
