/**
 * Dispatches the rows of a job, a few at a time, at the pace that the service asks for. It goes on while other pages of
 * the dashboard are shown.
 */
import { signal } from "@preact/signals";

import { ApiError, call } from "../../client";
import { forgetJob, type Job, keepJob, keepResults, keptJob, keyOf, type Results, type RowResult } from "./kept_job";
import { bodyOf, type TableRow } from "./table";

const CONCURRENCY = 4;
const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;
const SHOWN_EVERY_MS = 200;
const KEPT_EVERY_MS = 1_000;
const RETRIED = new Set([0, 429, 502, 503, 504]);
/** Refusals that concern one row. After any other, further requests make no sense. */
const OF_THE_ROW = new Set(["validation_failed", "missing_field", "malformed_json", "idempotency_key_reused", "resource_deleted"]);

export interface Dispatching {
  readonly job: Job;
  readonly results: Results;
  readonly phase: "running" | "stopped" | "done";
  /** What the service asked to wait for, or that it cannot be reached. */
  readonly waiting: string | null;
  /** The refusal that ended it. */
  readonly error: ApiError | null;
}

export const dispatching = signal<Dispatching | null>(null);

/** The run of a row, or why there is none yet. */
export function isDispatched(result: RowResult | undefined): result is Extract<RowResult, { runId: string }> {
  return result !== undefined && "runId" in result;
}

interface Work {
  readonly job: Job;
  readonly secret: string;
  readonly results: Map<number, RowResult>;
  readonly queue: TableRow[];
  isStopping: boolean;
  error: ApiError | null;
  waiting: string | null;
  failures: number;
  notBefore: number;
  wake: () => void;
}

let work: Work | null = null;
let secretInMemory: { readonly id: string; readonly secret: string } | null = null;

/** The secret of the job's webhooks, unless the page was reloaded. */
export function secretOf(job: Job): string | null {
  return secretInMemory?.id === job.id ? secretInMemory.secret : null;
}

/** Shows the job of this tab, if there is one of the organization. */
export function restore(organizationId: string): void {
  const shown = dispatching.peek();
  if (shown !== null && shown.job.organizationId === organizationId) return;
  stop();
  work = null;
  const kept = keptJob(organizationId);
  dispatching.value = kept === null ? null : { ...kept, phase: kept.job.rows.every((row) => isDispatched(kept.results.get(row.number))) ? "done" : "stopped", waiting: null, error: null };
}

/** Returns false if the browser has no room to keep the job; then nothing is dispatched. */
export function begin(job: Job, secret: string): boolean {
  if (!keepJob(job)) return false;
  dispatching.value = { job, results: new Map(), phase: "stopped", waiting: null, error: null };
  proceed(secret);
  return true;
}

/** Dispatches all rows without a run; refused ones are tried again. */
export function proceed(secret: string): void {
  const shown = dispatching.peek();
  if (shown === null || shown.phase !== "stopped" || work !== null) return;
  const { job } = shown;
  secretInMemory = { id: job.id, secret };
  const results = new Map([...shown.results].filter(([, result]) => isDispatched(result)));
  const queue = job.rows.filter((row) => !results.has(row.number));
  const ours: Work = { job, secret, results, queue, isStopping: false, error: null, waiting: null, failures: 0, notBefore: 0, wake: () => undefined };
  work = ours;
  void run(ours);
}

/** Rows that are being sent are waited for. */
export function stop(): void {
  if (work === null) return;
  work.isStopping = true;
  work.wake();
}

/** Does not wait any longer. */
export function tryNow(): void {
  if (work === null) return;
  work.notBefore = 0;
  work.wake();
}

/** Forgets the job and its links. */
export function discard(): void {
  if (work !== null) return;
  forgetJob();
  secretInMemory = null;
  dispatching.value = null;
}

async function run(ours: Work): Promise<void> {
  const show = () => publish(ours, "running");
  show();
  const showing = setInterval(show, SHOWN_EVERY_MS);
  const keeping = setInterval(() => keepResults(ours.job, ours.results), KEPT_EVERY_MS);
  const keep = () => keepResults(ours.job, ours.results);
  const ask = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener("pagehide", keep);
  addEventListener("beforeunload", ask);
  addEventListener("online", tryNow);
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, () => takeRows(ours)));
  } finally {
    clearInterval(showing);
    clearInterval(keeping);
    removeEventListener("pagehide", keep);
    removeEventListener("beforeunload", ask);
    removeEventListener("online", tryNow);
    keep();
    if (work === ours) work = null;
    publish(ours, ours.job.rows.every((row) => isDispatched(ours.results.get(row.number))) ? "done" : "stopped");
  }
}

function publish({ job, results, waiting, error }: Work, phase: Dispatching["phase"]): void {
  if (dispatching.peek()?.job.id !== job.id) return;
  dispatching.value = { job, results: new Map(results), phase, waiting: phase === "running" ? waiting : null, error };
}

async function takeRows(ours: Work): Promise<void> {
  for (let row = ours.queue.shift(); row !== undefined; row = ours.queue.shift()) {
    const result = await resultOf(ours, row);
    if (result === null) return;
    ours.results.set(row.number, result);
  }
}

/** Null if the job ends without a result of this row. */
async function resultOf(ours: Work, row: TableRow): Promise<RowResult | null> {
  const { job } = ours;
  for (;;) {
    await pause(ours);
    if (ours.isStopping || ours.error !== null) return null;
    try {
      const json = bodyOf(row, job.templateId, ours.secret);
      const run = await call<{ run_id: string; link: string; expires_at: string | null }>(`${job.organizationId}/runs`, { method: "POST", json, headers: { "Idempotency-Key": keyOf(job, row) } });
      ours.failures = 0;
      ours.waiting = null;
      return { runId: run.run_id, link: run.link, expiresAt: run.expires_at };
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      if (RETRIED.has(problem.status) || problem.code === "idempotency_in_progress") holdBack(ours, problem);
      else if (OF_THE_ROW.has(problem.code)) return { error: [problem.message, ...problem.problems.map((one) => `${one.path}: ${one.message}`)].join(" ") };
      else {
        ours.error ??= problem;
        return null;
      }
    }
  }
}

function holdBack(ours: Work, problem: ApiError): void {
  const now = Date.now();
  const seconds = Math.min(problem.retryAfter ?? FIRST_PAUSE_S * 2 ** Math.min(ours.failures, 10), LONGEST_PAUSE_S);
  ours.waiting = problem.message;
  if (now + seconds * 1_000 <= ours.notBefore) return;
  ours.failures += 1;
  ours.notBefore = now + seconds * 1_000;
}

async function pause(ours: Work): Promise<void> {
  while (!ours.isStopping && ours.notBefore > Date.now()) {
    const ms = ours.notBefore - Date.now();
    await new Promise<void>((resolve) => {
      const before = ours.wake;
      const timer = setTimeout(resolve, ms);
      ours.wake = () => {
        clearTimeout(timer);
        resolve();
        before();
      };
    });
    ours.wake = () => undefined;
  }
}
