/**
 * A job in the tab's session storage: its table, its id, which is a part of each Idempotency-Key, and its results. A job
 * whose page was reloaded goes on; a row whose result was not kept is repeated with the same key. The webhook's secret
 * is only in memory.
 */
import { randomKey } from "../../parts/random_key";
import type { TableRow } from "./table";

export interface Job {
  readonly id: string;
  readonly organizationId: string;
  readonly templateId: string;
  readonly templateName: string;
  readonly copied: readonly string[];
  readonly delimiter: string;
  readonly rows: readonly TableRow[];
  /** Milliseconds since 1970. */
  readonly begunAt: number;
}

export type RowResult = { readonly runId: string; readonly link: string; readonly expiresAt: string | null } | { readonly error: string };
export type Results = ReadonlyMap<number, RowResult>;

/** A key protects a request for 24 hours. */
const KEYS_LAST_MS = 23 * 3_600_000;
const JOB = "checklists-many-job";
const RESULTS = "checklists-many-results";

export function newJobId(): string {
  return `job-${randomKey()}`;
}

export function keyOf(job: Job, row: TableRow): string {
  return `${job.id}-${row.number}`;
}

export function isTooOld(job: Job, now: number): boolean {
  return now - job.begunAt > KEYS_LAST_MS;
}

/** Whether any row sends its events somewhere, which takes the secret. */
export function needsSecret(job: Job): boolean {
  return job.rows.some((row) => row.url !== null);
}

/** Returns whether the browser has room for it. */
export function keepJob(job: Job): boolean {
  try {
    sessionStorage.removeItem(RESULTS);
    sessionStorage.setItem(JOB, JSON.stringify(job));
    return true;
  } catch {
    return false;
  }
}

export function keepResults(job: Job, results: Results): void {
  try {
    sessionStorage.setItem(RESULTS, JSON.stringify([job.id, [...results]]));
  } catch {
    // Without room, rows are repeated with their keys after a reload.
  }
}

export function keptJob(organizationId: string): { job: Job; results: Map<number, RowResult> } | null {
  try {
    const job = JSON.parse(sessionStorage.getItem(JOB) ?? "null") as Job | null;
    if (job === null || job.organizationId !== organizationId) return null;
    const [id, results] = JSON.parse(sessionStorage.getItem(RESULTS) ?? "[]") as [string?, [number, RowResult][]?];
    return { job, results: new Map(id === job.id ? results : []) };
  } catch {
    return null;
  }
}

export function forgetJob(): void {
  sessionStorage.removeItem(JOB);
  sessionStorage.removeItem(RESULTS);
}
