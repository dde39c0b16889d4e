import "fake-indexeddb/auto";

import { afterEach, beforeEach, expect, test } from "vitest";

import { type FakeService } from "./testing/fake_service";
import { always, kinds, PLAIN, Rig, shown } from "./testing/rig";
import { settle } from "./testing/virtual_time";

let rig: Rig;
let service: FakeService;
beforeEach(() => {
  rig = new Rig();
  rig.serve(PLAIN, { mode: "member", user_id: null });
  service = rig.service;
  service.members.add("u-ada").add("u-bob");
});
afterEach(() => rig.close());

const opened = () => service.calls.filter(({ path }) => path === "/open").length;

test("without a session the sign-in view names the organization, and the checklist is not opened", async () => {
  const store = await rig.visit();
  expect(store.phase.value).toBe("sign_in");
  const asking = { organization: "Bright Kitchens", templateName: PLAIN.name, sender: "Ada" };
  expect(store.membership.value).toEqual({ access: "sign_in", asking, email: null });
  expect(store.run.value).toBeNull();
  expect(opened()).toBe(0);
});

test("after signing in, the checklist opens without a token in the address", async () => {
  (await rig.visit()).close();
  service.signedIn = "u-ada";
  const store = await rig.visit({ token: null });
  expect(store.phase.value).toBe("checklist");
  expect(store.run.value?.executor_identity).toEqual({ mode: "member", user_id: "u-ada" });
  expect(opened()).toBe(1);
  await store.answer("s-a", "mine");
  await rig.time.pass(1_000);
  expect([...service.by.values()]).toEqual(["u-ada"]);
});

test("a run that is not for members never sends the session", async () => {
  rig.serve(PLAIN);
  const seen: (string | undefined)[] = [];
  const { fetch } = rig.service;
  Object.assign(rig.service, { fetch: ((input, init) => (seen.push(init?.credentials), fetch(input, init))) satisfies typeof fetch });
  const store = await rig.visit();
  await store.answer("s-a", "anybody's");
  await rig.time.pass(40_000);
  expect(new Set(seen)).toEqual(new Set(["omit"]));
});

test("a session that ends keeps everything in the queue, and the same operations are sent after it", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  await store.answer("s-a", "before");
  await rig.time.pass(1_000);
  service.signedIn = null;
  await store.answer("s-b", "typed");
  await rig.time.pass(1_000);
  await store.answer("s-a", "typed too");
  await rig.time.pass(90_000);
  expect(store.phase.value).toBe("checklist");
  expect(store.sync.value).toEqual({ state: "signed_out", waiting: 2 });
  expect(kinds(store)).toEqual(["signed_out"]);
  expect(shown(store, "s-b")?.value).toBe("typed");
  const tried = service.calls.filter(({ path }) => path === "/answers/s-b").map(({ opId }) => opId);
  store.close();
  service.signedIn = "u-ada";
  const again = await rig.visit({ token: null });
  await rig.time.pass(1_000);
  expect(again.sync.value).toEqual({ state: "saved", waiting: 0 });
  expect(kinds(again)).toEqual([]);
  expect(service.answers.get("s-b")?.value).toBe("typed");
  expect(service.answers.get("s-a")?.value).toBe("typed too");
  expect(new Set(service.applied).size).toBe(service.applied.length);
  expect(service.applied).toContain(tried[0]);
});

test("a submit without a session can be withdrawn, one with an unknown result cannot", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.signedIn = null;
  await store.submit(null);
  await rig.time.pass(5_000);
  expect(store.submitQueued.value).toBe(true);
  expect(await store.withdraw()).toBe(true);
  service.signedIn = "u-ada";
  service.outcome = ({ path }) => (path === "/submit" ? "lost_reply" : "ok");
  store.retry();
  await settle();
  await store.submit(null);
  await settle();
  service.signedIn = null;
  await rig.time.pass(90_000);
  expect(await store.withdraw()).toBe(false);
});

test("a sign-in in another tab resumes this one", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.signedIn = null;
  await store.answer("s-a", "typed");
  await rig.time.pass(5_000);
  expect(store.sync.value.state).toBe("signed_out");
  service.signedIn = "u-ada";
  store.retry();
  await rig.time.pass(1_000);
  expect(store.sync.value).toEqual({ state: "saved", waiting: 0 });
  expect(store.membership.value.access).toBe("open");
});

test("another member on the same device neither sees nor sends the first one's answers", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.outcome = always("lost_request");
  await store.answer("s-a", "adas");
  await rig.time.pass(1_000);
  store.close();
  service.outcome = always("ok");
  service.signedIn = "u-bob";
  const bobs = await rig.visit();
  await rig.time.pass(90_000);
  expect(bobs.phase.value).toBe("assigned");
  expect(bobs.membership.value).toMatchObject({ access: "assigned", email: "u-bob@example.com" });
  expect(bobs.sync.value.waiting).toBe(1);
  expect(service.answers.size).toBe(0);
  bobs.close();
  service.signedIn = "u-ada";
  const adas = await rig.visit();
  await rig.time.pass(1_000);
  expect(adas.sync.value).toEqual({ state: "saved", waiting: 0 });
  expect([...service.by.values()]).toEqual(["u-ada"]);
});

test("after reassignment, the first member's answers are not sent as the other's", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.outcome = always("lost_request");
  await store.answer("s-a", "adas");
  await rig.time.pass(1_000);
  store.close();
  service.outcome = always("ok");
  service.identity = { mode: "member", user_id: "u-bob" };
  service.signedIn = "u-bob";
  const bobs = await rig.visit();
  await rig.time.pass(90_000);
  expect(bobs.phase.value).toBe("assigned");
  expect(bobs.membership.value.access).toBe("others");
  expect([bobs.sync.value.waiting, service.answers.size]).toEqual([1, 0]);
});

test("a change of session in another tab sends nothing under the wrong name", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.signedIn = "u-bob";
  await store.answer("s-a", "adas");
  await rig.time.pass(1_000);
  expect(store.phase.value).toBe("assigned");
  expect([store.sync.value.waiting, service.answers.size]).toEqual([1, 0]);
});

test("a person who is not a member sees their email address", async () => {
  service.signedIn = "u-eve";
  const store = await rig.visit();
  expect(store.phase.value).toBe("not_member");
  expect(store.membership.value).toMatchObject({ email: "u-eve@example.com", asking: { organization: "Bright Kitchens" } });
});

test("a removed member keeps their answers, which are sent once they are a member again", async () => {
  service.signedIn = "u-ada";
  const store = await rig.visit();
  service.members.delete("u-ada");
  await store.answer("s-a", "typed");
  await rig.time.pass(90_000);
  expect(store.phase.value).toBe("not_member");
  expect([store.sync.value.waiting, store.notArrived.value.length]).toEqual([1, 0]);
  service.members.add("u-ada");
  store.retry();
  await rig.time.pass(1_000);
  expect(store.phase.value).toBe("checklist");
  expect(service.answers.get("s-a")?.value).toBe("typed");
});

test("an opened checklist works offline", async () => {
  service.signedIn = "u-ada";
  (await rig.visit()).close();
  service.outcome = always("lost_request");
  const store = await rig.visit({ token: null });
  expect(store.phase.value).toBe("checklist");
  await store.answer("s-a", "offline");
  await rig.time.pass(5_000);
  expect(store.sync.value).toEqual({ state: "offline", waiting: 1 });
  service.outcome = always("ok");
  await rig.time.pass(90_000);
  await settle();
  expect(service.answers.get("s-a")?.value).toBe("offline");
});

test("of two members who open it at once, the second sees that it is assigned to another", async () => {
  service.signedIn = "u-bob";
  service.outcome = ({ path }) => {
    if (path === "/open") service.identity = { mode: "member", user_id: "u-ada" };
    return "ok";
  };
  const store = await rig.visit();
  expect(store.phase.value).toBe("assigned");
});
