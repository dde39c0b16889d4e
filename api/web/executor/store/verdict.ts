/**
 * Classifies the response to an operation. Only a response of the service itself ends an operation: captive portals,
 * proxies and load balancers also respond, and must never make an answer disappear.
 */
import type { Change, JsonValue, Problem } from "../../core/types";
import { retryAfterMs } from "./backoff";

/** `network`: no response. */
export type Reply =
  | { readonly kind: "network" }
  | {
      readonly kind: "http";
      readonly status: number;
      /** The decoded JSON object; null if the body is not one. */
      readonly body: { readonly [name: string]: JsonValue } | null;
      readonly retryAfter: string | null;
      /** The server's clock, if sent. */
      readonly date: Date | null;
    };

export type Verdict =
  | { readonly kind: "confirmed"; readonly change: Change }
  | { readonly kind: "refused"; readonly problems: readonly Problem[] }
  /** The run accepts no more changes. */
  | { readonly kind: "closed"; readonly why: "closed" | "expired" | "gone" }
  /** The service requires an identity first. */
  | { readonly kind: "identity_missing" }
  /** The token is not, or no longer, valid for the run. */
  | { readonly kind: "denied" }
  /** The run is for another member, or the membership has ended: the operation waits. */
  | { readonly kind: "not_the_member" }
  /**
   * Retry: `network` if there was no response of the service, `service` if it failed, `proxy` if something in between
   * refused the request: the exchange is over, so no late copy of it can arrive.
   */
  | { readonly kind: "again"; readonly cause: "network" | "service" | "proxy"; readonly afterMs: number | null };

const AGAIN = new Set([408, 425, 429]);

export function verdictOf(reply: Reply, runId: string, now: Date): Verdict {
  if (reply.kind === "network") return { kind: "again", cause: "network", afterMs: null };
  const { status, body } = reply;
  if (status >= 200 && status < 300) {
    if (body?.["run_id"] === runId) return { kind: "confirmed", change: body as unknown as Change };
    return { kind: "again", cause: "network", afterMs: null };
  }
  const again: Verdict = { kind: "again", cause: "service", afterMs: retryAfterMs(reply.retryAfter, now) };
  if (AGAIN.has(status) || (status >= 500 && status !== 501)) return again;
  // A proxy that rejects large bodies would reject this one always.
  if (status === 413) return { kind: "refused", problems: problemsIn(body, "too_large") };
  const code = body?.["error"];
  if (typeof code !== "string" || typeof body?.["message"] !== "string") {
    return status >= 400 && status < 500 ? { ...again, cause: "proxy" } : again;
  }
  if (code === "sign_in_required" || code === "assigned_to_another") return { kind: "not_the_member" };
  if (status === 401) return { kind: "denied" };
  if (code === "run_closed") return { kind: "closed", why: "closed" };
  if (code === "run_expired") return { kind: "closed", why: "expired" };
  if (code === "run_not_found") return { kind: "closed", why: "gone" };
  if (code === "idempotency_in_progress") return again;
  const problems = problemsIn(body, code);
  if (problems.some((problem) => problem.code === "identity_required")) return { kind: "identity_missing" };
  return status >= 400 ? { kind: "refused", problems } : again;
}

/**
 * The verdict on each operation of a batch. null: send them one by one, since the service has no batches yet (it is
 * older than this app), or a proxy blocks them.
 */
export function verdictsOf(reply: Reply, opIds: readonly string[], runId: string, now: Date): readonly Verdict[] | null {
  const whole = verdictOf(reply, runId, now);
  const missing = reply.kind === "http" && (reply.status === 404 || reply.status === 405) && whole.kind !== "closed";
  if (missing || whole.kind === "refused" || whole.kind === "identity_missing") return null;
  if (reply.kind === "network" || whole.kind !== "confirmed") return opIds.map(() => whole);
  const results = resultsIn(reply.body);
  const fit = results.length === opIds.length && results.every((result, place) => result["op_id"] === opIds[place]);
  if (!fit) return opIds.map(() => ({ kind: "again", cause: "network", afterMs: null }));
  return results.map((result): Verdict => {
    const status = Number(result["status"]);
    const { answer, replayed } = result as unknown as Pick<Change, "answer" | "replayed">;
    if (status >= 200 && status < 300) return { kind: "confirmed", change: { ...whole.change, answer: answer ?? null, replayed } };
    return verdictOf({ ...reply, status, body: result }, runId, now);
  });
}

type Body = { readonly [name: string]: JsonValue };

function resultsIn(body: Body | null): readonly Body[] {
  const results = body?.["results"];
  return Array.isArray(results) ? (results as readonly Body[]).filter((result) => typeof result === "object" && result !== null) : [];
}

function problemsIn(body: { readonly [name: string]: JsonValue } | null, code: string): readonly Problem[] {
  const details = body?.["details"];
  const listed = Array.isArray(details) ? (details as unknown as Problem[]) : [];
  const sound = listed.filter((problem) => typeof problem?.path === "string" && typeof problem.code === "string");
  if (sound.length > 0) return sound;
  const message = body?.["message"];
  return [{ path: "", code, message: typeof message === "string" ? message : "" }];
}
