/** Derives the phase of the page and the sync state with pure functions. */
import type { ExecutorIdentity, RunStatus } from "../../core/types";
import type { Access, Phase, SyncState } from "./types";

/** Why nothing can be shown. */
export type Failure = "none" | "offline" | "unreachable" | "not_found" | "expired";

export interface Situation {
  readonly hasToken: boolean;
  readonly hasPreview: boolean;
  readonly status: RunStatus | null;
  readonly identity: ExecutorIdentity | null;
  readonly reviewing: boolean;
  /** By the server's clock. */
  readonly timeIsUp: boolean;
  readonly failure: Failure;
  readonly access: Access;
}

export function phaseOf(situation: Situation): Phase {
  const { status, identity, failure, access } = situation;
  // Without access, cached data of an earlier person are not shown.
  if (access === "not_member") return "not_member";
  if (access === "assigned" || access === "others") return "assigned";
  if (status === "completed") return "done";
  if (status === "cancelled") return "cancelled";
  if (status === "expired" || failure === "expired") return "expired";
  if (failure === "not_found") return "not_found";
  if (status !== null) {
    if (situation.timeIsUp) return "expired";
    if (identity?.mode === "member" && identity.user_id === null) return access === "sign_in" ? "sign_in" : "loading";
    if (identity?.mode === "external" && !identity.email) return "identity";
    return situation.reviewing ? "review" : "checklist";
  }
  if (access === "sign_in") return "sign_in";
  if (!situation.hasToken && situation.hasPreview) return "preview";
  if (failure === "offline") return "offline_first";
  return failure === "unreachable" ? "unreachable" : "loading";
}

export interface Traffic {
  readonly waiting: number;
  readonly refusals: number;
  /** Whether the last request reached the service. */
  readonly reached: boolean;
  /** The token is no longer accepted. */
  readonly denied: boolean;
  /** The session of a run for members has ended. */
  readonly signedOut: boolean;
  /** Consecutive failures, with the service reachable, of the operation that failed most often. */
  readonly failures: number;
}

/** From this number on, the state is "needs attention". */
export const FAILURES_TO_REPORT = 5;

export function syncOf({ waiting, refusals, reached, denied, signedOut, failures }: Traffic): SyncState {
  if (signedOut && reached) return { state: "signed_out", waiting };
  if (refusals > 0 || denied || (failures >= FAILURES_TO_REPORT && waiting > 0)) return { state: "attention", waiting };
  if (!reached) return { state: "offline", waiting };
  return { state: waiting > 0 ? "saving" : "saved", waiting };
}
