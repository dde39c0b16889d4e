import { describe, expect, test } from "vitest";

import { ServerClock } from "./server_clock";
import { VirtualTime } from "./testing/virtual_time";
import type { Reply } from "./verdict";

/** A device whose clock is `skewMs` ahead, and exchanges with the server that take time. */
function device(skewMs: number) {
  const time = new VirtualTime(Date.parse("2026-11-21T10:00:00.700Z"));
  const timers = time.device(skewMs);
  const clock = new ServerClock(timers, () => undefined);
  const exchange = async (thereMs: number, backMs: number) => {
    const sentAt = timers.now();
    await time.pass(thereMs);
    const date = new Date(new Date(time.ms).toUTCString());
    await time.pass(backMs);
    const reply: Reply = { kind: "http", status: 200, body: {}, retryAfter: null, date };
    clock.onReply(reply, sentAt);
    return clock.offsetMs;
  };
  return { time, timers, clock, exchange };
}

describe("the clock of the server", () => {
  test("is that of the device while no reply says otherwise", async () => {
    const { exchange } = device(0);
    for (const [there, back] of [[0, 0], [300, 40], [2_000, 1_500], [20, 30_000]] as const) expect(await exchange(there, back)).toBe(0);
  });

  test.each([3_600_000, -3_600_000, 1_400, -1_400, 400 * 86_400_000])("is known within a second, %i ms apart", async (skewMs) => {
    const { time, clock, exchange } = device(skewMs);
    await exchange(80, 80);
    expect(Math.abs(clock.now().getTime() - time.ms)).toBeLessThanOrEqual(1_160);
    for (let ms = 50; ms < 1_000; ms += 130) await exchange(40, ms);
    expect(Math.abs(clock.now().getTime() - time.ms)).toBeLessThanOrEqual(600);
  });

  test("is not spoilt by a slow upload or a request that waits for a change", async () => {
    const { clock, time, exchange } = device(7_200_000);
    await exchange(10, 10);
    const before = clock.now().getTime() - time.ms;
    await exchange(50_000, 10);
    expect(clock.now().getTime() - time.ms).toBe(before);
  });

  test("is measured again after a clock was set", async () => {
    const { clock, exchange } = device(0);
    await exchange(10, 10);
    const set = device(-5_000);
    await set.exchange(10, 10);
    const reply: Reply = { kind: "http", status: 200, body: {}, retryAfter: null, date: new Date(Date.parse("2026-11-21T12:00:00Z")) };
    clock.onReply(reply, new Date(Date.parse("2026-11-21T10:00:00.720Z")));
    expect(Math.abs(clock.offsetMs - 7_200_000)).toBeLessThanOrEqual(1_000);
  });
});
