import "fake-indexeddb/auto";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { always, image, kinds, PLAIN, Rig, shown } from "./testing/rig";
import { step, template, when } from "./testing/templates";
import { settle } from "./testing/virtual_time";
import type { RunStore } from "./types";

const MANY = template(Array.from({ length: 100 }, (_, place) => step(`s-${place}`)));
let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.close());

/** The requests that write. */
const writes = () => rig.service.calls.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
const BATCH = "POST /operations";

/** Answers given offline are sent when online; clears the earlier calls. */
async function afterOffline(store: RunStore, give: () => Promise<unknown>): Promise<void> {
  rig.service.outcome = always("lost_request");
  await give();
  await rig.time.pass(1_000);
  rig.service.calls.length = 0;
  rig.service.outcome = always("ok");
  store.retry();
  // Runs without virtual time: fake-indexeddb takes one turn per row.
  for (let turns = 0; turns < 100 && store.sync.value.waiting > 0; turns += 1) await settle();
  await rig.time.pass(1_000);
}

async function answerAll(store: RunStore, count: number, text = "fine"): Promise<void> {
  for (let place = 0; place < count; place += 1) await store.answer(`s-${place}`, text);
}

describe("a queue that waited", () => {
  test("goes in one request, and a submit alone after it", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await answerAll(store, 100);
      await store.clear("s-7");
      await store.skip("s-8");
      await store.submit(null);
    });
    expect(writes()).toEqual([BATCH, "POST /submit"]);
    expect(rig.service.answers.size).toBe(98);
    expect([...rig.service.skipped]).toEqual(["s-8"]);
    expect(store.phase.value).toBe("done");
    expect(shown(store, "s-99")).toMatchObject({ value: "fine", pending: false });
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });

  test("is cut where a request would be larger than the service takes", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    await afterOffline(store, () => answerAll(store, 100, "\u{1F600}".repeat(900)));
    expect(writes()).toEqual([BATCH, BATCH]);
    expect(rig.service.answers.size).toBe(100);
    for (const { body } of rig.service.calls) expect(new TextEncoder().encode(JSON.stringify(body)).length).toBeLessThan(256 * 1024);
  });

  test("has its photos sent one by one, in order with what depends on them", async () => {
    rig.serve(template([step("s-ok", { type: "boolean", config: {} }), step("s-why", { type: "photo", config: { min: 1, max: 3 }, condition: when("s-ok", false) }), step("s-note")]));
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await store.answer("s-ok", false);
      await store.answer("s-note", "before");
      await store.addPhoto("s-why", image());
      await store.answer("s-ok", true);
    });
    expect(writes()).toEqual([BATCH, "POST /answers/s-why/photos", "PUT /answers/s-ok"]);
    expect(rig.service.answers.get("s-why")?.photos).toHaveLength(1);
    expect(rig.service.answers.get("s-ok")?.value).toBe(true);
    expect(kinds(store)).toEqual([]);
  });

  test("whose answer was lost is sent again, and counts once", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await answerAll(store, 3);
      rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
      store.retry();
      await rig.time.pass(1);
      await answerAll(store, 5, "more");
    });
    expect(rig.service.history.map(([stepId, value]) => `${stepId} ${value}`)).toEqual([
      ...["s-0 fine", "s-1 fine", "s-2 fine", "s-0 more", "s-1 more", "s-2 more", "s-3 more", "s-4 more"],
    ]);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
    expect(kinds(store)).toEqual([]);
  });
});

describe("the result of one operation of a batch", () => {
  test("a rejection stops no other operation, stays on screen, and withdraws the submit after it", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await answerAll(store, 3);
      await store.answer("s-1", "refuse me");
      await store.submit(null);
    });
    expect(writes()).toEqual([BATCH]);
    expect([...rig.service.answers.keys()]).toEqual(["s-0", "s-2"]);
    expect(shown(store, "s-1")).toMatchObject({ value: "refuse me", pending: false, problem: { code: "out_of_range" } });
    expect(store.notices.value).toEqual([{ id: "refused", kind: "refused", stepIds: ["s-1"] }]);
    expect(store.submitQueued.value).toBe(false);
    expect(store.sync.value).toEqual({ state: "attention", waiting: 0 });
  });

  test("operations without room are sent again later", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await answerAll(store, 5);
      rig.service.batchLimit = 2;
    });
    expect(rig.service.answers.size).toBe(5);
    expect(writes()).toEqual([BATCH, BATCH]);
    expect(rig.service.history).toHaveLength(5);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });

  test("in a run closed elsewhere, only late answers are shown", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await answerAll(store, 2);
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    store.retry();
    await rig.time.pass(1);
    rig.service.outcome = always("lost_request");
    await store.answer("s-2", "too late");
    rig.service.close("completed");
    rig.service.outcome = always("ok");
    store.retry();
    await rig.time.pass(60_000);
    expect(store.notArrived.value).toMatchObject([{ stepId: "s-2", value: "too late" }]);
    expect(store.sync.value.waiting).toBe(0);
    expect(store.phase.value).toBe("done");
  });

  test("a required identity keeps the answers in the queue", async () => {
    rig.serve(PLAIN, { mode: "external", name: "Ada", email: "ada@example.com" });
    const store = await rig.visit();
    await afterOffline(store, async () => {
      await store.answer("s-a", "warm");
      await store.answer("s-b", "dry");
      rig.service.identity = { mode: "external", name: null, email: null };
      rig.service.outcome = (call) => (call.method === "GET" ? "lost_request" : "ok");
    });
    expect(store.phase.value).toBe("identity");
    expect(store.sync.value.waiting).toBe(2);
    await store.identify("Ada", "ada@example.com");
    await rig.time.pass(10_000);
    expect(rig.service.history).toHaveLength(2);
  });
});

test("a queue that met a busy proxy is sent in one request again", async () => {
  rig.serve(MANY);
  const store = await rig.visit();
  await afterOffline(store, async () => {
    await answerAll(store, 3);
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "busy");
    for (let tries = 0; tries < 4; tries += 1) {
      store.retry();
      await rig.time.pass(3_000);
    }
  });
  expect(writes()).toEqual([BATCH]);
});

describe("a service without batches", () => {
  for (const status of [404, 405] as const) {
    test(`(${status}: it is older than the app) gets everything one by one`, async () => {
      rig.serve(MANY);
      const store = await rig.visit();
      rig.service.noBatches = status;
      await afterOffline(store, async () => {
        await answerAll(store, 3);
        await store.submit(null);
      });
      expect(writes()).toEqual([BATCH, "PUT /answers/s-0", "PUT /answers/s-1", "PUT /answers/s-2", "POST /submit"]);
      expect(rig.service.history).toHaveLength(3);
      expect(store.phase.value).toBe("done");
      expect(kinds(store)).toEqual([]);
    });
  }

  test("is tried again after a while; operations that it did not process do not count as sent", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    rig.service.noBatches = 404;
    rig.service.outcome = always("lost_request");
    await answerAll(store, 3);
    await rig.time.pass(1_000);
    rig.service.outcome = (call) => (call.method === "GET" || call.path === "/operations" ? "ok" : "busy");
    store.retry();
    await rig.time.pass(100);
    expect(writes().slice(-2)).toEqual([BATCH, "PUT /answers/s-0"]);
    // An unsent answer is replaced by the newer one.
    await store.answer("s-2", "newer");
    rig.service.noBatches = null;
    rig.service.outcome = always("ok");
    await rig.time.pass(10_000);
    expect(rig.service.history.filter(([stepId]) => stepId === "s-2")).toEqual([["s-2", "newer"]]);
    await rig.time.pass(600_000);
    await afterOffline(store, () => answerAll(store, 2, "again"));
    expect(writes()).toEqual([BATCH]);
  });

  test("but fails gets each operation alone, so that one blocks no other", async () => {
    rig.serve(MANY);
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await answerAll(store, 3);
    await rig.time.pass(1_000);
    rig.service.outcome = (call) => (JSON.stringify([call.path, call.body]).includes("s-1") ? "broken" : "ok");
    store.retry();
    await rig.time.pass(5_000);
    expect([...rig.service.answers.keys()]).toEqual(["s-0", "s-2"]);
    expect(store.sync.value.waiting).toBe(1);
    rig.service.outcome = always("ok");
    store.retry();
    await rig.time.pass(1_000);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });
});
