import "fake-indexeddb/auto";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Outcome } from "./testing/fake_service";
import { always, FOLLOW_UP, image, kinds, Rig, shown } from "./testing/rig";
import { settle } from "./testing/virtual_time";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => {
  rig.close();
  vi.restoreAllMocks();
});

describe("an answer", () => {
  test("is kept at once and sent in the background", async () => {
    const store = await rig.visit();
    expect(store.phase.value).toBe("checklist");
    await store.answer("s-a", "warm");
    expect(shown(store, "s-a")).toMatchObject({ value: "warm", pending: true });
    expect(store.sync.value).toEqual({ state: "saving", waiting: 1 });
    await settle();
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    expect(shown(store, "s-a")).toMatchObject({ value: "warm", pending: false });
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });

  test("that waits survives a crash of the tab and is sent by the next one without a token in its address", async () => {
    const first = await rig.visit();
    rig.service.outcome = always("lost_request");
    await first.answer("s-a", "warm");
    await settle();
    first.close();
    const second = await rig.visit({ token: null });
    expect(shown(second, "s-a")).toMatchObject({ value: "warm", pending: true });
    expect(second.sync.value).toEqual({ state: "offline", waiting: 1 });
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    expect(second.sync.value.state).toBe("saved");
  });

  test("that was applied without a response is sent again and applied once", async () => {
    const store = await rig.visit();
    const fates: Outcome[] = ["lost_reply", "hangs", "busy", "login_page", "broken", "limited"];
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : (fates.shift() ?? "ok"));
    await store.answer("s-a", "warm");
    await rig.time.pass(300_000);
    expect(rig.service.history).toEqual([["s-a", "warm"]]);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
    expect(kinds(store)).toEqual([]);
  });

  test("replaces an older one that was not sent, and follows one that may have been", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("hangs");
    await store.answer("s-a", "1");
    await settle();
    await store.answer("s-a", "2");
    await store.answer("s-a", "3");
    rig.service.outcome = always("ok");
    await rig.time.pass(300_000);
    expect(rig.service.history).toEqual([["s-a", "1"], ["s-a", "3"]]);
  });

  test("of a follow-up question is accepted although its source is changed before the network returns", async () => {
    rig.serve(FOLLOW_UP);
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-ok", false);
    await store.answer("s-why", "mould");
    await store.answer("s-ok", true);
    expect(store.applicable.value.has("s-why")).toBe(false);
    rig.service.outcome = always("ok");
    await rig.time.pass(120_000);
    expect(rig.service.answers.get("s-ok")?.value).toBe(true);
    expect(rig.service.answers.get("s-why")?.value).toBe("mould");
    expect(kinds(store)).toEqual([]);
  });

  test("that the server rejects stays on screen with the reason, also after a reload, until it is answered again", async () => {
    const first = await rig.visit();
    await first.answer("s-a", "refuse me");
    await settle();
    expect(first.sync.value.state).toBe("attention");
    first.close();
    const store = await rig.visit();
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
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "limited");
    await store.answer("s-a", "warm");
    await settle();
    rig.service.outcome = always("ok");
    await rig.time.pass(2_900);
    expect(rig.service.history).toEqual([]);
    await rig.time.pass(200);
    expect(rig.service.history).toEqual([["s-a", "warm"]]);
  });

  test("that something in between refuses can be replaced, and blocks nothing", async () => {
    const store = await rig.visit();
    rig.service.outcome = ({ body }) => (JSON.stringify(body ?? "").includes("DROP TABLE") ? 403 : "ok");
    await store.answer("s-a", "DROP TABLE");
    await rig.time.pass(5_000);
    await store.answer("s-a", "harmless");
    await store.submit(null);
    await rig.time.pass(60_000);
    expect(rig.service.history).toEqual([["s-a", "harmless"]]);
    expect(store.phase.value).toBe("done");
  });

  test("that may have arrived before something in between refused it is followed, not replaced", async () => {
    const store = await rig.visit();
    const fates: Outcome[] = ["lost_request", 403];
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : (fates.shift() ?? "hangs"));
    await store.answer("s-a", "1");
    await rig.time.pass(3_000);
    expect(fates).toEqual([]);
    await store.answer("s-a", "2");
    rig.service.outcome = always("ok");
    await rig.time.pass(300_000);
    expect(rig.service.history).toEqual([["s-a", "1"], ["s-a", "2"]]);
  });

  test("that fails repeatedly shows needs attention, and blocks no other step", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.path.startsWith("/answers/s-a") ? "broken" : "ok");
    await store.answer("s-a", "warm");
    await store.answer("s-b", "dry");
    await settle();
    expect(rig.service.history).toEqual([["s-b", "dry"]]);
    await rig.time.pass(120_000);
    expect(store.sync.value).toEqual({ state: "attention", waiting: 1 });
    rig.service.outcome = always("ok");
    store.retry();
    await settle();
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });
});

describe("a photo", () => {
  test("waits as a blob, is overtaken by answers of other steps, and keeps its key when it has arrived", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.path.includes("/photos") ? "hangs" : "ok");
    await store.addPhoto("s-photo", image());
    await store.answer("s-a", "warm");
    await settle();
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    const [kept] = shown(store, "s-photo")?.photos ?? [];
    expect(kept?.url).toMatch(/^blob:/);
    expect(store.progress.value.answered).toBe(2);
    rig.service.outcome = always("ok");
    await rig.time.pass(180_000);
    const [sent] = shown(store, "s-photo")?.photos ?? [];
    expect(sent).toMatchObject({ key: kept?.key, index: 0, state: "sent", url: kept?.url });
    expect(store.sync.value.waiting).toBe(0);
  });

  test("survives a reload with its picture and all its bytes", async () => {
    const first = await rig.visit();
    rig.service.outcome = always("lost_request");
    await first.addPhoto("s-photo", image());
    await settle();
    first.close();
    const store = await rig.visit();
    expect(shown(store, "s-photo")?.photos[0]).toMatchObject({ url: expect.stringMatching(/^blob:/) as string, state: "kept" });
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-photo")?.photos).toMatchObject([{ bytes: 5, content_type: "image/jpeg" }]);
  });

  test("taken back while it is on its way is removed once it has arrived", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.path.includes("/photos") ? "lost_reply" : "ok");
    await store.addPhoto("s-photo", image());
    await settle();
    await store.removePhoto("s-photo", shown(store, "s-photo")?.photos[0]?.key ?? "");
    expect(shown(store, "s-photo")?.photos).toEqual([]);
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-photo")?.photos).toEqual([]);
    expect(store.sync.value.waiting).toBe(0);
  });

  test("is retaken: the new one replaces the old one on the device and in the service", async () => {
    const store = await rig.visit();
    await store.addPhoto("s-photo", image());
    await settle();
    const [old] = shown(store, "s-photo")?.photos ?? [];
    await store.addPhoto("s-photo", image(), [old?.key ?? ""]);
    expect(shown(store, "s-photo")?.photos).toHaveLength(1);
    expect(shown(store, "s-photo")?.photos[0]?.key).not.toBe(old?.key);
    await settle();
    expect(rig.service.answers.get("s-photo")?.photos.map((photo) => photo.photo_index)).toEqual([1]);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  });

  test("is retaken in its place: on the device always, in the service if it was not sent yet", async () => {
    const store = await rig.visit();
    const photoOf = (bytes: number) => new Blob(["x".repeat(bytes)], { type: "image/jpeg" });
    const arrived = () => rig.service.answers.get("s-photo")?.photos.map((photo) => photo.bytes);
    const keys = () => shown(store, "s-photo")?.photos.map((photo) => photo.key) ?? [];
    rig.service.outcome = always("lost_request");
    for (const bytes of [1, 2, 3]) await store.addPhoto("s-photo", photoOf(bytes));
    const [first, second, third] = keys();
    await store.addPhoto("s-photo", photoOf(4), [second ?? ""]);
    expect([keys()[0], keys()[2]]).toEqual([first, third]);
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(arrived()).toEqual([1, 4, 3]);
    const [, retaken] = keys();
    await store.addPhoto("s-photo", photoOf(5), [retaken ?? ""]);
    await settle();
    expect([keys()[0], keys()[2]]).toEqual([first, third]);
    expect(keys()).toHaveLength(3);
    expect(arrived()).toEqual([1, 3, 5]);
  });

  test("that was never sent is dropped when it is removed", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-photo", null);
    await settle();
    await store.addPhoto("s-photo", image());
    await store.removePhoto("s-photo", shown(store, "s-photo")?.photos[0]?.key ?? "");
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.calls.filter((call) => call.path.includes("/photos"))).toEqual([]);
  });
});

describe("a browser without storage", () => {
  test("shows a notice and sends answers", async () => {
    const store = await rig.visit({ blocked: true });
    expect(store.keeps.value).toBe(false);
    expect(kinds(store)).toEqual(["not_keeping"]);
    await store.answer("s-a", "warm");
    await store.addPhoto("s-photo", image());
    await settle();
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    expect(rig.service.answers.get("s-photo")?.photos).toMatchObject([{ bytes: 5 }]);
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
    await store.submit(null);
    await settle();
    expect(store.phase.value).toBe("done");
  });

  test("keeps unsent answers until the tab is closed", async () => {
    const store = await rig.visit({ blocked: true });
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "warm");
    await rig.time.pass(10_000);
    expect(store.sync.value).toEqual({ state: "offline", waiting: 1 });
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
  });
});

describe("a full device", () => {
  test("shows nothing as stored that is not, and adds a notice", async () => {
    const store = await rig.visit();
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

  test("keeps the photo whose replacement was not stored", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.addPhoto("s-photo", image());
    const before = shown(store, "s-photo")?.photos ?? [];
    const put = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    await expect(store.addPhoto("s-photo", image(), [before[0]?.key ?? ""])).rejects.toMatchObject({ name: "StorageFull" });
    put.mockRestore();
    expect(shown(store, "s-photo")?.photos).toEqual(before);
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-photo")?.photos).toHaveLength(1);
  });

  test("still removes a photo that was taken back on its way", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.path.includes("/photos") ? "lost_reply" : "ok");
    await store.addPhoto("s-photo", image());
    await settle();
    await store.removePhoto("s-photo", shown(store, "s-photo")?.photos[0]?.key ?? "");
    const { put } = IDBObjectStore.prototype;
    // There is room for small rows only.
    vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(function (this: IDBObjectStore, row: { type?: string }, key) {
      if (row.type === "run") throw new DOMException("full", "QuotaExceededError");
      return put.call(this, row, key);
    });
    rig.service.outcome = always("ok");
    await rig.time.pass(10_000);
    vi.restoreAllMocks();
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-photo")?.photos).toEqual([]);
    expect(store.sync.value.waiting).toBe(0);
  });

  test("still sends, which frees space", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "warm");
    await settle();
    const put = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.history).toEqual([["s-a", "warm"]]);
    expect(store.sync.value.waiting).toBe(0);
    put.mockRestore();
  });
});
