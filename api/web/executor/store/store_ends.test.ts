import "fake-indexeddb/auto";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { TOKEN } from "./testing/fake_service";
import { always, image, kinds, PLAIN, Rig, shown } from "./testing/rig";
import { step, template } from "./testing/templates";
import { settle } from "./testing/virtual_time";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.close());

describe("two devices", () => {
  test("the last write of a step wins, and the other device shows a notice", async () => {
    const store = await rig.visit();
    await store.answer("s-a", "mine");
    await settle();
    await rig.time.pass(1000);
    rig.service.write("s-a", "theirs");
    await rig.time.pass(31_000);
    expect(shown(store, "s-a")?.value).toBe("theirs");
    const replaced = [{ stepId: "s-a", value: "mine" }];
    expect(store.notices.value).toEqual([{ id: "other_device", kind: "other_device", stepIds: ["s-a"], replaced }]);
    store.dismiss("other_device");
    await settle();
    expect(store.notices.value).toEqual([]);
  });

  test("an offline answer that arrives last wins, with a notice about the other answer", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "mine");
    await rig.time.pass(40_000);
    rig.service.write("s-a", "theirs");
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.answers.get("s-a")?.value).toBe("mine");
    expect(kinds(store)).toEqual(["other_device"]);
  });

  test("a run that was closed elsewhere wins over everything, and what did not arrive is shown", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "too late");
    await store.addPhoto("s-photo", image());
    await rig.time.pass(40_000);
    rig.service.close("completed");
    rig.service.outcome = always("ok");
    await rig.time.pass(90_000);
    expect(store.phase.value).toBe("done");
    expect(kinds(store).sort()).toEqual(["closed_elsewhere", "not_arrived"]);
    expect(store.notArrived.value).toMatchObject([
      { stepId: "s-a", kind: "answer", value: "too late" },
      { stepId: "s-photo", kind: "photo" },
    ]);
    expect(store.sync.value.waiting).toBe(0);
    store.close();
    const again = await rig.visit();
    expect(again.notArrived.value).toHaveLength(2);
    again.dismiss("not_arrived");
    await settle();
    expect(again.notArrived.value).toEqual([]);
  });

  test("an answer that arrived before the run was closed is not reported as lost, even without a response", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.answer("s-a", "in time");
    await settle();
    rig.service.close("cancelled");
    rig.service.outcome = always("ok");
    await rig.time.pass(90_000);
    expect(store.phase.value).toBe("cancelled");
    expect(store.notArrived.value).toEqual([]);
    expect(store.sync.value.waiting).toBe(0);
  });
});

describe("the end of a run", () => {
  test("a submit without network waits behind all answers and is not shown as sent", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "warm");
    await store.addPhoto("s-photo", image());
    store.review(true);
    await store.drawSignature(new Blob(["drawing"], { type: "image/png" }));
    await store.submit({ name: "Ada" });
    expect(store.submitQueued.value).toBe(true);
    expect(store.phase.value).toBe("review");
    await rig.time.pass(20_000);
    store.close();
    const next = await rig.visit({ token: null });
    expect(next.submitQueued.value).toBe(true);
    rig.service.outcome = always("ok");
    await rig.time.pass(90_000);
    expect(next.phase.value).toBe("done");
    expect(next.submitQueued.value).toBe(false);
    expect(rig.service).toMatchObject({ status: "completed", signatureName: "Ada", drawn: true });
    expect(rig.service.answers.get("s-photo")?.photos).toHaveLength(1);
    expect(kinds(next)).toEqual([]);
  });

  test("a submit whose reply is lost is done all the same", async () => {
    const store = await rig.visit();
    rig.service.outcome = (call) => (call.method === "GET" ? "ok" : "lost_reply");
    await store.submit(null);
    await settle();
    rig.service.outcome = always("ok");
    await rig.time.pass(90_000);
    expect(store.phase.value).toBe("done");
    expect(kinds(store)).toEqual([]);
  });

  test("an answer that is refused takes the submit behind it back", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "refuse me");
    await store.submit(null);
    rig.service.outcome = always("ok");
    await rig.time.pass(90_000);
    expect(rig.service.status).not.toBe("completed");
    expect(store.submitQueued.value).toBe(false);
    expect(store.notices.value).toEqual([{ id: "refused", kind: "refused", stepIds: ["s-a"] }]);
  });

  test("an answer given after a submit that was not sent takes the submit back", async () => {
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await rig.time.pass(40_000);
    await store.submit(null);
    await settle();
    await store.answer("s-a", "one more thing");
    expect(store.submitQueued.value).toBe(false);
    expect(await store.withdraw()).toBe(true);
  });

  test("steps that the server reports as missing at the submit are shown", async () => {
    rig.serve(template([step("s-a", { required: true })]));
    const store = await rig.visit();
    await store.submit(null);
    await settle();
    expect(store.refusals.value).toMatchObject([{ code: "required" }]);
    expect(store.submitQueued.value).toBe(false);
    await store.answer("s-a", "here");
    await store.submit(null);
    await settle();
    expect(store.phase.value).toBe("done");
  });

  test("a drawing that was cleared after a rejected submit is not part of the next one", async () => {
    rig.serve(template([step("s-a", { required: true })]));
    const store = await rig.visit();
    await store.drawSignature(new Blob(["drawing"], { type: "image/png" }));
    await store.submit({ name: "Ada" });
    await settle();
    expect(rig.service.drawn).toBe(true);
    await store.drawSignature(null);
    await store.answer("s-a", "here");
    await store.submit({ name: "Ada" });
    await rig.time.pass(1_000);
    expect(rig.service).toMatchObject({ status: "completed", signatureName: "Ada", drawn: false });
  });

  test("time runs out while there is no network, by the server's clock", async () => {
    rig.service.expiresAt = new Date(rig.time.ms + 600_000).toISOString();
    const store = await rig.visit({ skewMs: 3_600_000 });
    expect(store.phase.value).toBe("checklist");
    expect(Math.abs(store.now().getTime() - rig.time.ms)).toBeLessThan(1_500);
    rig.service.outcome = always("lost_request");
    await store.answer("s-a", "too late");
    await rig.time.pass(590_000);
    expect(store.phase.value).toBe("checklist");
    await rig.time.pass(15_000);
    expect(store.phase.value).toBe("expired");
    expect(store.notArrived.value).toEqual([]);
    rig.service.outcome = always("ok");
    await rig.time.pass(120_000);
    expect(store.phase.value).toBe("expired");
    expect(store.notArrived.value).toMatchObject([{ stepId: "s-a", value: "too late" }]);
  });
});

describe("identity", () => {
  const external = () => {
    rig.serve(PLAIN, { mode: "external", name: null, email: null });
  };

  test("is asked first, counts as given at once, and is sent before everything", async () => {
    external();
    const store = await rig.visit();
    expect(store.phase.value).toBe("identity");
    rig.service.outcome = always("lost_request");
    await store.identify("Ada", "ada@example.com");
    expect(store.phase.value).toBe("checklist");
    await store.answer("s-a", "warm");
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(rig.service.identity).toEqual({ mode: "external", name: "Ada", email: "ada@example.com" });
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
  });

  test("that is refused is asked for again, and the answers given meanwhile wait for it", async () => {
    external();
    const store = await rig.visit();
    rig.service.outcome = always("lost_request");
    await store.identify("Ada", "nowhere");
    await store.answer("s-a", "warm");
    rig.service.outcome = always("ok");
    await rig.time.pass(60_000);
    expect(store.phase.value).toBe("identity");
    expect(store.refusals.value).toMatchObject([{ code: "invalid_format" }]);
    expect(store.sync.value.waiting).toBe(1);
    await store.identify("Ada", "ada@example.com");
    await rig.time.pass(10_000);
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    expect(store.refusals.value).toEqual([]);
  });
});

describe("opening the link", () => {
  test("without a token shows the preview", async () => {
    const store = await rig.visit({ token: null });
    expect(store.phase.value).toBe("preview");
    expect(store.preview.value?.template_name).toBe("Cellar");
  });

  test("for the first time without a service tells so, and goes on by itself", async () => {
    rig.service.outcome = always("busy");
    const store = await rig.visit();
    expect(store.phase.value).toBe("unreachable");
    rig.service.outcome = always("ok");
    await rig.time.pass(10_000);
    expect(store.phase.value).toBe("checklist");
  });

  test("with a wrong token finds nothing", async () => {
    const store = await rig.visit({ token: "x".repeat(43) });
    expect(store.phase.value).toBe("not_found");
  });

  test("with a wrong token, where the right one is known, goes on with the right one", async () => {
    const first = await rig.visit();
    rig.service.outcome = always("lost_request");
    await first.answer("s-a", "warm");
    await settle();
    first.close();
    rig.service.outcome = always("ok");
    const store = await rig.visit({ token: "x".repeat(43) });
    await rig.time.pass(60_000);
    expect(store.phase.value).toBe("checklist");
    expect(rig.service.answers.get("s-a")?.value).toBe("warm");
    expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
    store.close();
    expect((await rig.visit({ token: null })).phase.value).toBe("checklist");
  });

  for (const status of [404, 410]) {
    test(`that a gateway refuses with ${status} discards nothing`, async () => {
      const first = await rig.visit();
      rig.service.outcome = always("lost_request");
      await first.answer("s-a", "warm");
      await first.addPhoto("s-photo", image());
      first.close();
      rig.service.outcome = always(status);
      const store = await rig.visit({ token: null });
      expect([store.phase.value, store.sync.value.waiting]).toEqual(["checklist", 2]);
      rig.service.outcome = always("ok");
      await rig.time.pass(90_000);
      expect([...rig.service.answers.keys()]).toEqual(["s-a", "s-photo"]);
      expect(kinds(store)).toEqual([]);
    });
  }

  test("again without network shows what was kept", async () => {
    const first = await rig.visit();
    await first.answer("s-a", "warm");
    await settle();
    first.close();
    rig.service.outcome = always("lost_request");
    const store = await rig.visit({ token: null });
    expect(store.phase.value).toBe("checklist");
    expect(shown(store, "s-a")?.value).toBe("warm");
    expect(store.sync.value.state).toBe("offline");
  });

  test("never puts the token anywhere but into the Authorization header", async () => {
    const store = await rig.visit();
    await store.answer("s-a", "warm");
    await store.addPhoto("s-photo", image());
    await settle();
    expect(rig.service.calls.length).toBeGreaterThan(2);
    for (const call of rig.service.calls) expect(JSON.stringify([call.path, call.body])).not.toContain(TOKEN);
  });
});
