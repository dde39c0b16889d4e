import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Template } from "../../core/types";
import { createStore } from "./store";
import { API, type Fate, FakeService, RUN_ID, TOKEN } from "./testing/fake_service";
import { step, template, when } from "./testing/templates";
import { settle, VirtualTime } from "./testing/virtual_time";
import type { RunStore } from "./types";

const PLAIN = template([step("s-a"), step("s-b"), step("s-photo", { type: "photo", config: { min: 1, max: 3 } })]);
const FOLLOW_UP = template([
  step("s-ok", { type: "boolean", config: {} }),
  step("s-why", { condition: when("s-ok", false) }),
  step("s-note"),
]);

let time: VirtualTime;
let service: FakeService;
let device: IDBFactory;
const open: RunStore[] = [];

beforeEach(() => {
  time = new VirtualTime();
  device = new IDBFactory();
  service = new FakeService(PLAIN, () => new Date(time.ms));
});

afterEach(() => {
  for (const store of open.splice(0)) store.close();
  vi.restoreAllMocks();
});

function serve(checklist: Template): void {
  service = new FakeService(checklist, () => new Date(time.ms));
}

/** Opens the link; without `token` as after a reload, on the same device unless another one is given. */
async function visit({ token = TOKEN as string | null, db = device, skewMs = 0 } = {}): Promise<RunStore> {
  const timers = time.device(skewMs);
  const store = createStore({ runId: RUN_ID, token, api: API, fetch: service.fetch, timers, db, locks: null, channel: null });
  open.push(store);
  await settle();
  return store;
}

const always = (fate: Fate) => () => fate;
const shown = (store: RunStore, stepId: string) => store.answers.value.get(stepId);
const kinds = (store: RunStore) => store.notices.value.map((notice) => notice.kind);
const image = () => new Blob(["photo"], { type: "image/jpeg" });

describe("an answer", () => {
  test("is kept at once and sent in the background", async () => {
    const store = await visit();
    expect(store.phase.value).toBe("checklist");
    await store.answer("s-a", "warm");
    expect(shown(store, "s-a")).toMatchObject({ value: "warm", pending: true });
    expect(store.sync.value).toEqual({ state: "saving", waiting: 1 });
    await settle();
    expect(service.answers.get("s-a")?.value).toBe("warm");
    expect(shown(store, "s-a")).toMatchObject({ value: "warm", pending: false });
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });

  test("that waits survives the death of the tab and arrives from the next one, which needs no token in its address", async () => {
    const first = await visit();
    service.fate = always("lost_request");
    await first.answer("s-a", "warm");
    await settle();
    first.close();
    const second = await visit({ token: null });
    expect(shown(second, "s-a")).toMatchObject({ value: "warm", pending: true });
    expect(second.sync.value).toEqual({ state: "offline", waiting: 1 });
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.answers.get("s-a")?.value).toBe("warm");
    expect(second.sync.value.state).toBe("saved");
  });

  test("that was applied without a reply is sent again and counts once", async () => {
    const store = await visit();
    const fates: Fate[] = ["lost_reply", "hangs", "busy", "login_page", "broken", "limited"];
    service.fate = (call) => (call.method === "GET" ? "ok" : (fates.shift() ?? "ok"));
    await store.answer("s-a", "warm");
    await time.pass(300_000);
    expect(service.history).toEqual([["s-a", "warm"]]);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
    expect(kinds(store)).toEqual([]);
  });

  test("replaces an older one that was not sent, and follows one that may have been", async () => {
    const store = await visit();
    service.fate = always("hangs");
    await store.answer("s-a", "1");
    await settle();
    await store.answer("s-a", "2");
    await store.answer("s-a", "3");
    service.fate = always("ok");
    await time.pass(300_000);
    expect(service.history).toEqual([["s-a", "1"], ["s-a", "3"]]);
  });

  test("of a follow-up question is taken although its reason is taken back before the network returns", async () => {
    serve(FOLLOW_UP);
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-ok", false);
    await store.answer("s-why", "mould");
    await store.answer("s-ok", true);
    expect(store.applicable.value.has("s-why")).toBe(false);
    service.fate = always("ok");
    await time.pass(120_000);
    expect(service.answers.get("s-ok")?.value).toBe(true);
    expect(service.answers.get("s-why")?.value).toBe("mould");
    expect(kinds(store)).toEqual([]);
  });

  test("that the server refuses stays on screen with the reason, also after a reload, until it is given anew", async () => {
    const first = await visit();
    await first.answer("s-a", "refuse me");
    await settle();
    expect(first.sync.value.state).toBe("attention");
    first.close();
    const store = await visit();
    expect(shown(store, "s-a")).toMatchObject({ value: "refuse me", pending: false, problem: { code: "out_of_range" } });
    expect(store.missing.value).toContain("s-a");
    expect(store.notices.value).toEqual([{ id: "refused", kind: "refused", stepIds: ["s-a"] }]);
    await store.answer("s-a", "fine");
    await settle();
    expect(shown(store, "s-a")).toMatchObject({ value: "fine", problem: null });
    expect(store.sync.value.state).toBe("saved");
    expect(kinds(store)).toEqual([]);
  });

  test("waits as long as the server asks for", async () => {
    const store = await visit();
    service.fate = (call) => (call.method === "GET" ? "ok" : "limited");
    await store.answer("s-a", "warm");
    await settle();
    service.fate = always("ok");
    await time.pass(2_900);
    expect(service.history).toEqual([]);
    await time.pass(200);
    expect(service.history).toEqual([["s-a", "warm"]]);
  });

  test("that fails again and again asks for attention, and holds up no other step", async () => {
    const store = await visit();
    service.fate = (call) => (call.path.startsWith("/answers/s-a") ? "broken" : "ok");
    await store.answer("s-a", "warm");
    await store.answer("s-b", "dry");
    await settle();
    expect(service.history).toEqual([["s-b", "dry"]]);
    await time.pass(120_000);
    expect(store.sync.value).toEqual({ state: "attention", waiting: 1 });
    service.fate = always("ok");
    store.retry();
    await settle();
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });
});

describe("a photo", () => {
  test("waits as a blob, is overtaken by answers of other steps, and keeps its key when it has arrived", async () => {
    const store = await visit();
    service.fate = (call) => (call.path.includes("/photos") ? "hangs" : "ok");
    await store.addPhoto("s-photo", image());
    await store.answer("s-a", "warm");
    await settle();
    expect(service.answers.get("s-a")?.value).toBe("warm");
    const [kept] = shown(store, "s-photo")?.photos ?? [];
    expect(kept?.url).toMatch(/^blob:/);
    expect(store.progress.value.answered).toBe(2);
    service.fate = always("ok");
    await time.pass(180_000);
    const [sent] = shown(store, "s-photo")?.photos ?? [];
    expect(sent).toMatchObject({ key: kept?.key, index: 0, state: "sent", url: kept?.url });
    expect(store.sync.value.waiting).toBe(0);
  });

  test("survives a reload with its picture and all its bytes", async () => {
    const first = await visit();
    service.fate = always("lost_request");
    await first.addPhoto("s-photo", image());
    await settle();
    first.close();
    const store = await visit();
    expect(shown(store, "s-photo")?.photos[0]).toMatchObject({ url: expect.stringMatching(/^blob:/) as string, state: "kept" });
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.answers.get("s-photo")?.photos).toMatchObject([{ bytes: 5, content_type: "image/jpeg" }]);
  });

  test("taken back while it is on its way is removed once it has arrived", async () => {
    const store = await visit();
    service.fate = (call) => (call.path.includes("/photos") ? "lost_reply" : "ok");
    await store.addPhoto("s-photo", image());
    await settle();
    await store.removePhoto("s-photo", shown(store, "s-photo")?.photos[0]?.key ?? "");
    expect(shown(store, "s-photo")?.photos).toEqual([]);
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.answers.get("s-photo")?.photos).toEqual([]);
    expect(store.sync.value.waiting).toBe(0);
  });

  test("that was never sent is simply forgotten when it is taken back", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-photo", null);
    await settle();
    await store.addPhoto("s-photo", image());
    await store.removePhoto("s-photo", shown(store, "s-photo")?.photos[0]?.key ?? "");
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.calls.filter((call) => call.path.includes("/photos"))).toEqual([]);
  });
});

describe("a full device", () => {
  test("shows nothing as kept that is not, and says so", async () => {
    const store = await visit();
    const put = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    await expect(store.answer("s-a", "warm")).rejects.toMatchObject({ name: "StorageFull" });
    await expect(store.addPhoto("s-photo", image())).rejects.toMatchObject({ name: "StorageFull" });
    expect(store.answers.value.size).toBe(0);
    expect(kinds(store)).toEqual(["storage_full"]);
    put.mockRestore();
    await store.answer("s-a", "warm");
    expect(kinds(store)).toEqual([]);
    expect(shown(store, "s-a")?.value).toBe("warm");
  });

  test("still sends what it has, which makes room again", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-a", "warm");
    await settle();
    const put = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.history).toEqual([["s-a", "warm"]]);
    expect(store.sync.value.waiting).toBe(0);
    put.mockRestore();
  });
});

describe("two devices", () => {
  test("the last write of a step wins, and the other person is told", async () => {
    const store = await visit();
    await store.answer("s-a", "mine");
    await settle();
    await time.pass(1000);
    service.write("s-a", "theirs");
    await time.pass(31_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
    expect(store.notices.value).toEqual([{ id: "other_device", kind: "other_device", stepIds: ["s-a"] }]);
    store.dismiss("other_device");
    await settle();
    expect(store.notices.value).toEqual([]);
  });

  test("what was answered offline is told to have met another answer, and wins when it arrives last", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-a", "mine");
    await time.pass(40_000);
    service.write("s-a", "theirs");
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.answers.get("s-a")?.value).toBe("mine");
    expect(kinds(store)).toEqual(["other_device"]);
  });

  test("a run that was closed elsewhere wins over everything, and what did not arrive is shown", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-a", "too late");
    await store.addPhoto("s-photo", image());
    await time.pass(40_000);
    service.close("completed");
    service.fate = always("ok");
    await time.pass(90_000);
    expect(store.phase.value).toBe("done");
    expect(kinds(store).sort()).toEqual(["closed_elsewhere", "not_arrived"]);
    expect(store.notArrived.value).toMatchObject([
      { stepId: "s-a", kind: "answer", value: "too late" },
      { stepId: "s-photo", kind: "photo" },
    ]);
    expect(store.sync.value.waiting).toBe(0);
    store.close();
    const again = await visit();
    expect(again.notArrived.value).toHaveLength(2);
    again.dismiss("not_arrived");
    await settle();
    expect(again.notArrived.value).toEqual([]);
  });

  test("what had arrived before the run was closed, though nobody heard of it, is not told to be lost", async () => {
    const store = await visit();
    service.fate = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.answer("s-a", "in time");
    await settle();
    service.close("cancelled");
    service.fate = always("ok");
    await time.pass(90_000);
    expect(store.phase.value).toBe("cancelled");
    expect(store.notArrived.value).toEqual([]);
    expect(store.sync.value.waiting).toBe(0);
  });
});

describe("the end of a run", () => {
  test("a submit without network waits behind all answers and is not shown as sent", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-a", "warm");
    await store.addPhoto("s-photo", image());
    store.review(true);
    await store.drawSignature(new Blob(["drawing"], { type: "image/png" }));
    await store.submit({ name: "Ada" });
    expect(store.submitQueued.value).toBe(true);
    expect(store.phase.value).toBe("review");
    await time.pass(20_000);
    store.close();
    const next = await visit({ token: null });
    expect(next.submitQueued.value).toBe(true);
    service.fate = always("ok");
    await time.pass(90_000);
    expect(next.phase.value).toBe("done");
    expect(next.submitQueued.value).toBe(false);
    expect(service).toMatchObject({ status: "completed", signatureName: "Ada", drawn: true });
    expect(service.answers.get("s-photo")?.photos).toHaveLength(1);
    expect(kinds(next)).toEqual([]);
  });

  test("a submit whose reply is lost is done all the same", async () => {
    const store = await visit();
    service.fate = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.submit(null);
    await settle();
    service.fate = always("ok");
    await time.pass(90_000);
    expect(store.phase.value).toBe("done");
    expect(kinds(store)).toEqual([]);
  });

  test("an answer that is refused takes the submit behind it back", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await store.answer("s-a", "refuse me");
    await store.submit(null);
    service.fate = always("ok");
    await time.pass(90_000);
    expect(service.status).not.toBe("completed");
    expect(store.submitQueued.value).toBe(false);
    expect(store.notices.value).toEqual([{ id: "refused", kind: "refused", stepIds: ["s-a"] }]);
  });

  test("an answer given after a submit that was not sent takes the submit back", async () => {
    const store = await visit();
    service.fate = always("lost_request");
    await time.pass(40_000);
    await store.submit(null);
    await settle();
    await store.answer("s-a", "one more thing");
    expect(store.submitQueued.value).toBe(false);
    expect(await store.withdraw()).toBe(true);
  });

  test("what the server misses at the submit is told", async () => {
    serve(template([step("s-a", { required: true })]));
    const store = await visit();
    await store.submit(null);
    await settle();
    expect(store.refusals.value).toMatchObject([{ code: "required" }]);
    expect(store.submitQueued.value).toBe(false);
    await store.answer("s-a", "here");
    await store.submit(null);
    await settle();
    expect(store.phase.value).toBe("done");
  });

  test("time runs out while there is no network, by the server's clock", async () => {
    service.expiresAt = new Date(time.ms + 600_000).toISOString();
    const store = await visit({ skewMs: 3_600_000 });
    expect(store.phase.value).toBe("checklist");
    expect(Math.abs(store.now().getTime() - time.ms)).toBeLessThan(1_500);
    service.fate = always("lost_request");
    await store.answer("s-a", "too late");
    await time.pass(590_000);
    expect(store.phase.value).toBe("checklist");
    await time.pass(15_000);
    expect(store.phase.value).toBe("expired");
    expect(store.notArrived.value).toEqual([]);
    service.fate = always("ok");
    await time.pass(120_000);
    expect(store.phase.value).toBe("expired");
    expect(store.notArrived.value).toMatchObject([{ stepId: "s-a", value: "too late" }]);
  });
});

describe("identity", () => {
  const external = () => {
    service = new FakeService(PLAIN, () => new Date(time.ms), { mode: "external", name: null, email: null });
  };

  test("is asked first, counts as given at once, and is sent before everything", async () => {
    external();
    const store = await visit();
    expect(store.phase.value).toBe("identity");
    service.fate = always("lost_request");
    await store.identify("Ada", "ada@example.com");
    expect(store.phase.value).toBe("checklist");
    await store.answer("s-a", "warm");
    service.fate = always("ok");
    await time.pass(60_000);
    expect(service.identity).toEqual({ mode: "external", name: "Ada", email: "ada@example.com" });
    expect(service.answers.get("s-a")?.value).toBe("warm");
  });

  test("that is refused is asked for again, and the answers given meanwhile wait for it", async () => {
    external();
    const store = await visit();
    service.fate = always("lost_request");
    await store.identify("Ada", "nowhere");
    await store.answer("s-a", "warm");
    service.fate = always("ok");
    await time.pass(60_000);
    expect(store.phase.value).toBe("identity");
    expect(store.refusals.value).toMatchObject([{ code: "invalid_format" }]);
    expect(store.sync.value.waiting).toBe(1);
    await store.identify("Ada", "ada@example.com");
    await time.pass(10_000);
    expect(service.answers.get("s-a")?.value).toBe("warm");
    expect(store.refusals.value).toEqual([]);
  });
});

describe("opening the link", () => {
  test("without a token shows the preview", async () => {
    const store = await visit({ token: null });
    expect(store.phase.value).toBe("preview");
    expect(store.preview.value?.template_name).toBe("Cellar");
  });

  test("for the first time without a service tells so, and goes on by itself", async () => {
    service.fate = always("busy");
    const store = await visit();
    expect(store.phase.value).toBe("unreachable");
    service.fate = always("ok");
    await time.pass(10_000);
    expect(store.phase.value).toBe("checklist");
  });

  test("with a wrong token finds nothing", async () => {
    const store = await visit({ token: "x".repeat(43) });
    expect(store.phase.value).toBe("not_found");
  });

  test("again without network shows what was kept", async () => {
    const first = await visit();
    await first.answer("s-a", "warm");
    await settle();
    first.close();
    service.fate = always("lost_request");
    const store = await visit({ token: null });
    expect(store.phase.value).toBe("checklist");
    expect(shown(store, "s-a")?.value).toBe("warm");
    expect(store.sync.value.state).toBe("offline");
  });

  test("never puts the token anywhere but into the Authorization header", async () => {
    const store = await visit();
    await store.answer("s-a", "warm");
    await store.addPhoto("s-photo", image());
    await settle();
    expect(service.calls.length).toBeGreaterThan(2);
    for (const call of service.calls) expect(JSON.stringify([call.path, call.body])).not.toContain(TOKEN);
  });
});
