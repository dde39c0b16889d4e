import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test } from "vitest";

import { databaseName, type Kept, RunDatabase } from "./database";
import { NO_RECORDS, type Operation, type RunRecord } from "./records";
import { isSpent, tidyUp } from "./tidy";

const OPENED = "2026-11-01T10:00:00Z";
const WAITS: Operation = { kind: "answer", stepId: "s-a", value: 1, geo: null, seq: 1, opId: "op-1", at: OPENED, attempts: 0 };
const [OLD, OPEN, OWN] = ["1", "2", "3"].map((end) => `r-00000000-0000-4000-8000-00000000000${end}`) as [string, string, string];

function run(status: string, expires_at: string | null = null): RunRecord {
  return { epoch: 1, clockOffsetMs: 0, run: { status, expires_at } as unknown as RunRecord["run"] };
}

const kept = (record: RunRecord | null, more: Partial<Kept["records"]> = {}): Kept => ({
  records: { ...NO_RECORDS, run: record, ...more },
  template: null,
  token: "t",
  drawing: null,
  seen: OPENED,
});
const after = (days: number) => new Date(Date.parse(OPENED) + days * 24 * 3_600_000);

test.each(["completed", "cancelled", "expired"])("what was %s goes a week after it was last opened", (status) => {
  expect(isSpent(kept(run(status)), after(6.9))).toBe(false);
  expect(isSpent(kept(run(status)), after(7.1))).toBe(true);
});

test("an expired checklist is closed, even if it was not opened since", () => {
  expect(isSpent(kept(run("in_progress", "2026-11-02T10:00:00Z")), after(8))).toBe(true);
  expect(isSpent(kept(run("in_progress", "2026-12-02T10:00:00Z")), after(8))).toBe(false);
});

test("an open one is kept for three months after it was last opened", () => {
  expect(isSpent(kept(run("in_progress")), after(80))).toBe(false);
  expect(isSpent(kept(run("in_progress")), after(91))).toBe(true);
});

test("unsent operations are kept at any age", () => {
  expect(isSpent(kept(run("in_progress"), { queue: [WAITS] }), after(400))).toBe(false);
});

test("late answers are kept for three months", () => {
  const lost = [{ seq: 1, stepId: "s-a", kind: "answer", value: 1, at: OPENED }] as const;
  expect(isSpent(kept(run("completed"), { lost }), after(80))).toBe(false);
  expect(isSpent(kept(run("completed"), { lost }), after(91))).toBe(true);
});

let factory: IDBFactory;
beforeEach(async () => {
  factory = new IDBFactory();
  for (const runId of [OLD, OPEN, OWN]) {
    const database = new RunDatabase(databaseName(runId), () => factory);
    await database.remember({ token: "t", seen: OPENED });
    await database.change({ decide: (before) => ({ ...before, run: run(runId === OPEN ? "in_progress" : "completed") }) });
    database.close();
  }
  const foreign = factory.open("something else", 1);
  await new Promise((resolve) => (foreign.onsuccess = resolve));
  foreign.result.close();
});
const left = async () => (await factory.databases()).map(({ name }) => name).sort();

test("only expired databases are deleted, neither the open run nor other data", async () => {
  await tidyUp(OWN, { factory, locks: null, now: after(30) });
  expect(await left()).toEqual([databaseName(OPEN), databaseName(OWN), "something else"]);
});

test("a run open in another tab is kept", async () => {
  const request = (_name: string, _options: LockOptions, held: (lock: Lock | null) => unknown) => Promise.resolve(held(null));
  await tidyUp(OWN, { factory, locks: { request } as unknown as LockManager, now: after(30) });
  expect(await left()).toHaveLength(4);
});
