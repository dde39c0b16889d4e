import "fake-indexeddb/auto";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { WAIT_S } from "./change_watch";
import { always, kinds, Rig, shown } from "./testing/rig";
import { settle } from "./testing/virtual_time";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
  rig.service.changes = 0;
});
afterEach(() => rig.close());

const calls = (path: string, method = "GET") => rig.service.calls.filter((call) => call.method === method && call.path.replace(/\?.*/, "") === path);
const reads = () => calls("").length;
const waits = () => calls("/changes").length;

describe("a change by another device", () => {
  test("is shown within two seconds, with the answer that it replaced", async () => {
    const store = await rig.visit();
    await store.answer("s-a", "mine");
    await rig.time.pass(20_000);
    rig.service.write("s-a", "theirs");
    await rig.time.pass(2_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
    const replaced = [{ stepId: "s-a", value: "mine" }];
    expect(store.notices.value).toEqual([{ id: "other_device", kind: "other_device", stepIds: ["s-a"], replaced }]);
    rig.service.write("s-a", "theirs again");
    await rig.time.pass(2_000);
    expect(store.notices.value).toMatchObject([{ replaced }]);
  });

  test("is shown with the end of the run, if the other device also submits", async () => {
    const store = await rig.visit();
    await store.answer("s-a", "mine");
    await store.answer("s-b", "mine");
    await rig.time.pass(20_000);
    rig.service.write("s-a", "theirs");
    rig.service.close("completed");
    await rig.time.pass(2_000);
    expect(store.phase.value).toBe("done");
    expect(kinds(store).sort()).toEqual(["closed_elsewhere", "other_device"]);
    const replaced = [{ stepId: "s-a", value: "mine" }];
    expect(store.notices.value.find((notice) => notice.kind === "other_device")).toMatchObject({ stepIds: ["s-a"], replaced });
    expect(rig.service.waiting.size).toBe(0);
  });

  test("is not missed between own answers that follow each other quickly", async () => {
    const store = await rig.visit();
    await store.answer("s-a", "mine");
    await rig.time.pass(5_000);
    for (let count = 0; count < 6; count += 1) {
      await store.answer("s-b", `${count}`);
      if (count === 2) rig.service.write("s-a", "theirs");
      await rig.time.pass(700);
    }
    await rig.time.pass(2_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
    expect(kinds(store)).toEqual(["other_device"]);
  });

  test("is not missed between a read and the repetition of an own answer", async () => {
    const store = await rig.visit();
    await rig.time.pass(3_000);
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.answer("s-a", "mine");
    await settle();
    let hasWritten = false;
    rig.service.outcome = (call) => {
      if (call.method !== "GET" && !hasWritten) rig.service.write("s-b", "theirs");
      hasWritten ||= call.method !== "GET";
      return "ok";
    };
    await rig.time.pass(10_000);
    expect(hasWritten).toBe(true);
    expect(shown(store, "s-b")?.value).toBe("theirs");
  });
});

describe("an open page", () => {
  test("costs one waiting request per minute and one read in ten", async () => {
    await rig.visit();
    const [before, waited] = [reads(), waits()];
    await rig.time.pass(3_600_000);
    expect(reads() - before).toBeLessThanOrEqual(6);
    expect(waits() - waited).toBeLessThanOrEqual(3_600 / WAIT_S + 1);
    expect(rig.service.waiting.size).toBe(1);
  });

  test("does not read its own answers, and sends them without reading first", async () => {
    const store = await rig.visit();
    await rig.time.pass(120_000);
    const [before, waited] = [reads(), waits()];
    for (let count = 0; count < 10; count += 1) {
      await store.answer("s-a", `${count}`);
      await rig.time.pass(3_000);
    }
    expect(rig.service.history).toHaveLength(10);
    expect(reads() - before).toBe(0);
    expect(waits() - waited).toBeLessThanOrEqual(11);
    expect(kinds(store)).toEqual([]);
  });

  test("waits no longer after it was closed, nor for a run that is over", async () => {
    const store = await rig.visit();
    await rig.time.pass(3_000);
    expect(rig.service.waiting.size).toBe(1);
    store.close();
    await settle();
    expect(rig.service.waiting.size).toBe(0);
    rig.service.close("cancelled");
    await rig.visit();
    await rig.time.pass(60_000);
    expect(rig.service.waiting.size).toBe(0);
  });

  test("polls a service that reports no changes", async () => {
    rig.service.changes = null;
    const store = await rig.visit();
    rig.service.write("s-a", "theirs");
    await rig.time.pass(31_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
    expect(waits()).toBe(0);
  });

  test("polls while its waiting request is refused, and waits again afterwards", async () => {
    rig.service.outcome = (call) => (call.path.startsWith("/changes") ? "busy" : "ok");
    const store = await rig.visit();
    rig.service.write("s-a", "1");
    await rig.time.pass(33_000);
    expect(shown(store, "s-a")?.value).toBe("1");
    expect(store.sync.value.state).toBe("saved");
    await rig.time.pass(600_000);
    expect(waits()).toBeLessThanOrEqual(23);
    rig.service.outcome = always("ok");
    await rig.time.pass(31_000);
    rig.service.write("s-a", "2");
    await rig.time.pass(2_000);
    expect(shown(store, "s-a")?.value).toBe("2");
  });

  test("waits less long where a proxy ends the request, and is not called offline", async () => {
    rig.service.outcome = (call) => (call.path.startsWith("/changes") && Number(/wait=(\d+)/.exec(call.path)?.[1]) > 15 ? "lost_request" : "ok");
    const store = await rig.visit();
    await rig.time.pass(50_000);
    expect(store.sync.value.state).toBe("saved");
    expect(rig.service.waiting.size).toBe(1);
    rig.service.write("s-a", "theirs");
    await rig.time.pass(2_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
  });

  test("waits again as soon as the network is back", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "mine");
    await rig.time.pass(10_000);
    expect(store.sync.value.state).toBe("offline");
    expect(rig.service.waiting.size).toBe(0);
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.waiting.size).toBe(1);
    rig.service.write("s-a", "theirs");
    await rig.time.pass(2_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
  });
});
