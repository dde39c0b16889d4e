/** Deliveries, replays and endpoints as the API returns them. */
import type { PageInfo } from "../parts/pagination";

export interface Attempt {
  /** 1 to 5; a replay has the number of the last attempt. */
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly outcome: string | null;
  readonly http_status: number | null;
  readonly manual: boolean;
  readonly next_attempt_at: string | null;
  readonly detail: string | null;
}

export interface Delivery {
  readonly event_id: string;
  readonly run_id: string;
  readonly event: string;
  readonly seq: number;
  readonly ts: string | null;
  readonly status: "pending" | "in_flight" | "delivered" | "failed";
  readonly host: string;
  readonly attempts_made: number;
  readonly attempts: readonly Attempt[];
  readonly next_attempt_at: string | null;
  readonly finished_at: string | null;
  readonly replayable: boolean;
  readonly replay_refusal: string | null;
  readonly last_replay: {
    readonly requested_at: string;
    readonly requested_by: string | null;
    readonly attempted_at: string | null;
    readonly outcome: string | null;
    readonly http_status: number | null;
  } | null;
}

/** Whether an attempt has failed and another one follows. */
export function isRetried({ status, attempts_made: made }: Delivery): boolean {
  return status === "pending" && made > 0;
}

export interface ReplayFilter {
  readonly status: string | null;
  readonly run_id: string | null;
  readonly event_ids: readonly string[];
  readonly event: string | null;
  readonly host: string | null;
  readonly outcome: string | null;
  readonly finished_after: string | null;
  readonly finished_before: string | null;
}

export interface Replay {
  readonly replay_id: string;
  readonly status: "pending" | "running" | "completed" | "refused";
  readonly filter: ReplayFilter;
  readonly dry_run: boolean;
  readonly requested_by: string | null;
  readonly requested_at: string;
  readonly total: number | null;
  readonly done: number;
  readonly delivered: number;
  readonly failed: number;
  readonly refused: number;
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface Endpoint {
  readonly host: string;
  readonly deliveries: number;
  readonly attempts: number;
  readonly success_rate: number | null;
  readonly latency_p50_ms: number | null;
  readonly latency_p95_ms: number | null;
  readonly last_success_at: string | null;
  readonly last_error: { readonly at: string; readonly outcome: string | null; readonly http_status: number | null } | null;
  readonly pending: number;
  readonly failed: number;
}

export interface ListOf<Row> {
  readonly data: readonly Row[];
  readonly pagination: PageInfo;
}
