/** What is on screen, and what the pill says: decided from what is known, by nothing but functions. */
import type { ExecutorIdentity, RunStatus } from "../../core/types";
import type { Phase, SyncState } from "./types";

/** Why there is nothing to show, when there is nothing to show. */
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
}

export function phaseOf(situation: Situation): Phase {
  const { status, identity, failure } = situation;
  if (status === "completed") return "done";
  if (status === "cancelled") return "cancelled";
  if (status === "expired" || failure === "expired") return "expired";
  if (failure === "not_found") return "not_found";
  if (status !== null) {
    if (situation.timeIsUp) return "expired";
    if (identity?.mode === "member" && identity.user_id === null) return "member_only";
    if (identity?.mode === "external" && !identity.email) return "identity";
    return situation.reviewing ? "review" : "checklist";
  }
  if (!situation.hasToken && situation.hasPreview) return "preview";
  if (failure === "offline") return "offline_first";
  return failure === "unreachable" ? "unreachable" : "loading";
}

export interface Traffic {
  readonly waiting: number;
  readonly refusals: number;
  /** Whether the last try reached the service. */
  readonly reached: boolean;
  /** The token is not taken any more. */
  readonly barred: boolean;
  /** How often in a row the service, though reached, could not take the operation that has failed most often. */
  readonly failures: number;
}

/** From here on trying again is not all that can be said about it. */
export const FAILURES_TO_TELL = 5;

export function syncOf({ waiting, refusals, reached, barred, failures }: Traffic): SyncState {
  if (refusals > 0 || barred || (failures >= FAILURES_TO_TELL && waiting > 0)) return { state: "attention", waiting };
  if (!reached) return { state: "offline", waiting };
  return { state: waiting > 0 ? "saving" : "saved", waiting };
}
