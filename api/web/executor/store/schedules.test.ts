/**
 * Random schedules of network, server and tab failures: nothing shown as stored is lost, nothing is applied twice, and
 * the answers of a step arrive in order. Seeds make failures repeatable.
 */
import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { expect, test } from "vitest";

import type { JsonValue } from "../../core/types";
import { createStore } from "./store";
import { API, type Outcome, FakeService, RUN_ID, TOKEN } from "./testing/fake_service";
import { step, template, when } from "./testing/templates";
import { settle, VirtualTime } from "./testing/virtual_time";
import type { RunStore } from "./types";

const CHECKLIST = template([
  step("s-gate", { type: "boolean", config: {} }),
  step("s-behind", { condition: when("s-gate", true) }),
  step("s-inner", { type: "boolean", config: {}, condition: when("s-gate", true) }),
  step("s-last", { condition: when("s-inner", true) }),
  step("s-free"),
  step("s-photo", { type: "photo", config: { min: 0, max: 20 } }),
]);
const BOOLEANS = new Set(["s-gate", "s-inner"]);
const FATES: readonly Outcome[] = ["ok", "ok", "ok", "late", "lost_request", "lost_reply", "hangs", "busy", "limited", "broken", "login_page", 403];

/** mulberry32: a small seeded generator. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

class Person {
  /** What was shown as stored, by step, in order; null for a cleared or skipped one. */
  readonly given = new Map<string, JsonValue[]>();
  private count = 0;

  constructor(private readonly chance: () => number) {}

  async act(store: RunStore): Promise<void> {
    const steps = [...store.applicable.value];
    const stepId = steps[Math.floor(this.chance() * steps.length)] ?? "s-free";
    const roll = this.chance();
    if (stepId === "s-photo") return this.photograph(store, roll);
    if (roll < 0.1) return this.note(stepId, null, store.clear(stepId));
    if (roll < 0.2) return this.note(stepId, null, store.skip(stepId));
    this.count += 1;
    const value = BOOLEANS.has(stepId) ? this.chance() < 0.7 : `answer ${this.count}`;
    return this.note(stepId, value, store.answer(stepId, value));
  }

  private async photograph(store: RunStore, roll: number): Promise<void> {
    const photos = store.answers.value.get("s-photo")?.photos ?? [];
    const photo = photos[Math.floor(this.chance() * photos.length)];
    if (roll < 0.4 && photo !== undefined) await store.removePhoto("s-photo", photo.key);
    else if (photos.length < 20) await store.addPhoto("s-photo", new Blob([`${roll}`], { type: "image/jpeg" }));
  }

  private async note(stepId: string, value: JsonValue, kept: Promise<void>): Promise<void> {
    await kept;
    this.given.set(stepId, [...(this.given.get(stepId) ?? []), value]);
  }
}

function isPartOf(part: readonly JsonValue[], whole: readonly JsonValue[]): boolean {
  let place = 0;
  for (const value of whole) if (place < part.length && part[place] === value) place += 1;
  return place === part.length;
}

async function live(seed: number): Promise<void> {
  const chance = generator(seed);
  const time = new VirtualTime(undefined, chance);
  const service = new FakeService(CHECKLIST, () => new Date(time.ms));
  const db = new IDBFactory();
  const visit = async (): Promise<RunStore> => {
    const timers = time.device();
    const opened = createStore({ runId: RUN_ID, token: TOKEN, api: API, fetch: service.fetch, timers, db, locks: null, channel: null });
    await settle();
    return opened;
  };
  let store = await visit();
  const person = new Person(chance);
  const badness = chance();
  service.outcome = () => (chance() < badness ? (FATES[Math.floor(chance() * FATES.length)] ?? "ok") : "ok");

  for (let deed = 0; deed < 40; deed += 1) {
    await person.act(store);
    const photosShown = store.answers.value.get("s-photo")?.photos.length ?? 0;
    const roll = chance();
    // During an upgrade, replicas of the earlier version respond, too.
    service.noBatches = chance() < 0.2 ? 404 : null;
    service.batchLimit = chance() < 0.1 ? 1 : Number.POSITIVE_INFINITY;
    if (roll < 0.25) await time.pass(Math.floor(chance() * 20_000));
    if (roll > 0.9) {
      // The tab is killed; its requests may still be in flight.
      store.close();
      store = await visit();
      expect(store.answers.value.get("s-photo")?.photos.length ?? 0, `seed ${seed}: photos after a reload`).toBe(photosShown);
      for (const [stepId, values] of person.given) {
        expect(store.answers.value.get(stepId)?.value ?? null, `seed ${seed}: ${stepId} after a reload`).toBe(values.at(-1));
      }
    }
  }
  const photosShown = store.answers.value.get("s-photo")?.photos.length ?? 0;
  service.outcome = () => "ok";
  service.noBatches = null;
  await time.pass(900_000);

  expect(store.sync.value, `seed ${seed}`).toEqual({ state: "saved", waiting: 0 });
  expect(store.notices.value, `seed ${seed}`).toEqual([]);
  for (const [stepId, values] of person.given) {
    const arrived = service.history.filter(([id]) => id === stepId).map(([, value]) => value);
    expect(service.answers.get(stepId)?.value ?? null, `seed ${seed}: ${stepId}`).toBe(values.at(-1));
    expect(isPartOf(arrived, values), `seed ${seed}: order of ${stepId}: ${JSON.stringify([arrived, values])}`).toBe(true);
  }
  expect(service.answers.get("s-photo")?.photos.length ?? 0, `seed ${seed}: photos`).toBe(photosShown);
  expect(new Set(service.applied).size).toBe(service.applied.length);
  batches += service.calls.filter(({ path }) => path === "/operations").length;
  store.close();
}

let batches = 0;

test("nothing stored is lost, duplicated or reordered after any failure", async () => {
  for (let seed = 1; seed <= 25; seed += 1) await live(seed);
  expect(batches).toBeGreaterThan(100);
}, 120_000);
