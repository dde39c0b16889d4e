/**
 * A fake executor API with a fake network that can fail in every way: idempotent by op_id, last write per step wins,
 * conditions are evaluated at the time of the write, closed runs reject writes.
 */
import { evaluate } from "../../../core";
import type { Answer, ExecutorIdentity, JsonValue, Photo, RunStatus, Template } from "../../../core/types";
import { turn } from "./virtual_time";

export const RUN_ID = "r-00000000-0000-4000-8000-000000000001";
export const TOKEN = "t".repeat(43);
export const API = new URL("https://checklists.example/prefix/v1/");

/**
 * The result of one exchange. `lost_reply`: applied, but the response is lost. `late`: the same, but applied some
 * exchanges later. A number: the status of a gateway's refusal.
 */
export type Outcome = number | "ok" | "late" | "lost_request" | "lost_reply" | "hangs" | "busy" | "limited" | "broken" | "login_page";

interface Call {
  readonly method: string;
  readonly path: string;
  readonly opId: string | null;
  readonly body: unknown;
}

type Json = { readonly [name: string]: unknown };
/** Status and body of a response. */
type Said = readonly [number, Json];
const ROUTES: { readonly [type: string]: (stepId: string) => readonly [string, string] } = {
  answer: (stepId) => ["PUT", `/answers/${stepId}`],
  clear: (stepId) => ["DELETE", `/answers/${stepId}`],
  skip: (stepId) => ["POST", `/steps/${stepId}/skip`],
};

export class FakeService {
  status: RunStatus = "pending";
  answers = new Map<string, Answer>();
  skipped = new Set<string>();
  identity: ExecutorIdentity;
  signatureName: string | null = null;
  drawn = false;
  /** Ids of the operations in the order of their application. */
  readonly applied: string[] = [];
  /** All values of each step, in order. */
  readonly history: [string, JsonValue][] = [];
  readonly calls: Call[] = [];
  outcome: (call: Call) => Outcome = () => "ok";
  expiresAt: string | null = null;
  /** Simulates a service without batch support. */
  noBatches: 404 | 405 | null = null;
  /** The number of changes; null simulates a service that does not report them. */
  changes: number | null = null;
  /** Requests that wait for a change. */
  readonly waiting = new Set<() => void>();
  /** Calls after that time. */
  after: (ms: number, call: () => void) => void = () => undefined;
  /** The number of operations of a batch that are accepted; the others get a temporary error. */
  batchLimit = Number.POSITIVE_INFINITY;
  /** For a run for members: the signed-in person, and the members. */
  signedIn: string | null = null;
  readonly members = new Set<string>();
  /** The member of each operation. */
  readonly by = new Map<string, string>();
  private photos = 0;
  private readonly inFlight: { arrivesIn: number; readonly arrive: () => void }[] = [];

  constructor(
    readonly template: Template,
    readonly now: () => Date,
    identity: ExecutorIdentity = { mode: "anonymous" },
  ) {
    this.identity = identity;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input));
    const method = init?.method ?? "GET";
    const text = typeof init?.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : null;
    const opId = url.searchParams.get("op_id") ?? (text?.["op_id"] as string | undefined) ?? null;
    const path = url.pathname.replace(`/prefix/v1/executor/runs/${RUN_ID}`, "");
    const call: Call = { method, path: path + url.search, opId, body: text ?? init?.body ?? null };
    this.calls.push(call);
    this.deliverLate();
    const outcome = this.outcome(call);
    await turn();
    if (typeof outcome === "number") return this.reply(outcome, { error: "Refused" });
    switch (outcome) {
      case "lost_request":
        throw new TypeError("Failed to fetch");
      case "hangs":
        return new Promise<Response>((_, reject) => {
          init?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
        });
      case "busy":
        return this.reply(503, { error: "service_unavailable", message: "Later." }, { "Retry-After": "2" });
      case "limited":
        return this.reply(429, { error: "rate_limited", message: "Slower." }, { "Retry-After": "3" });
      case "broken":
        return this.reply(500, { error: "internal_error", message: "Oh." });
      case "login_page":
        return new Response("<html>Welcome to the hotel</html>", { status: 200 });
      case "late":
        this.inFlight.push({ arrivesIn: 1 + (this.calls.length % 5), arrive: () => void this.answer(call, init, url) });
        throw new TypeError("Failed to fetch");
      case "lost_reply":
        this.answer(call, init, url);
        throw new TypeError("Failed to fetch");
      default:
        return url.pathname.endsWith("/changes") ? this.wait(url, init) : this.answer(call, init, url);
    }
  };

  /** A change by another device, or the owner. */
  write(stepId: string, value: JsonValue): void {
    this.answers.set(stepId, this.newAnswer(value, this.answers.get(stepId)?.photos ?? []));
    this.status = "in_progress";
    this.changed();
  }

  close(status: RunStatus): void {
    this.status = status;
    this.changed();
  }

  /** Removes an answer, as another device does. */
  remove(stepId: string): void {
    this.answers.delete(stepId);
    this.changed();
  }

  private changed(): void {
    if (this.changes === null) return;
    this.changes += 1;
    for (const answer of [...this.waiting]) answer();
  }

  /** Answers when there are more changes than asked for, or after the time. */
  private async wait(url: URL, init: RequestInit | undefined): Promise<Response> {
    const [known, seconds] = [Number(url.searchParams.get("after")), Number(url.searchParams.get("wait"))];
    if (this.changes === null) return this.reply(...this.refusal(404, "not_found"));
    if (this.changes <= known) {
      await new Promise<void>((resolve, reject) => {
        const answer = () => {
          this.waiting.delete(answer);
          resolve();
        };
        this.waiting.add(answer);
        this.after(seconds * 1000, answer);
        init?.signal?.addEventListener("abort", () => {
          this.waiting.delete(answer);
          reject(new DOMException("aborted", "AbortError"));
        });
      });
    }
    return this.reply(200, { run_id: RUN_ID, changes: this.changes });
  }

  private deliverLate(): void {
    for (const request of this.inFlight) {
      request.arrivesIn -= 1;
      if (request.arrivesIn === 0) request.arrive();
    }
  }

  private answer(call: Call, init: RequestInit | undefined, url: URL): Response {
    return this.reply(...this.respond(call, init, url));
  }

  private respond(call: Call, init: RequestInit | undefined, url: URL): Said {
    const authorization = new Headers(init?.headers).get("Authorization");
    if (url.pathname.endsWith("/preview")) return [200, this.preview()];
    if (url.pathname === "/prefix/dashboard/api/session") {
      return this.signedIn === null ? this.refusal(401, "sign_in_required") : [200, { email: `${this.signedIn}@example.com` }];
    }
    if (call.path === "/operations" && this.noBatches !== null) return this.refusal(this.noBatches, "not_found");
    if (authorization !== `Executor ${TOKEN}`) return this.refusal(401, "unauthorized");
    const refused = this.identity.mode === "member" ? this.refusedToMember(call, init) : null;
    if (refused !== null) return refused;
    if (call.method === "GET") return this.isExpired() ? this.refusal(410, "run_expired") : [200, this.view()];
    return call.path === "/operations" ? this.batch(call.body as { operations: Json[] }, url) : this.single(call, url);
  }

  private batch({ operations }: { readonly operations: readonly Json[] }, url: URL): Said {
    const results = operations.map((operation, place): Json => {
      const [method, path] = ROUTES[String(operation["type"])]?.(String(operation["step_id"])) ?? ["", ""];
      const op_id = String(operation["op_id"]);
      const room = place < this.batchLimit;
      const [status, body] = room ? this.single({ method, path, opId: op_id, body: operation }, url) : this.refusal(503, "service_unavailable");
      return { op_id, status, ...(status === 200 ? { replayed: body["replayed"], answer: body["answer"] ?? null } : body) };
    });
    this.batchLimit = Number.POSITIVE_INFINITY;
    return [200, { ...this.state(), results }];
  }

  private single(call: Call, url: URL): Said {
    const stepId = /^\/(?:answers|steps)\/([^/?]+)/.exec(call.path)?.[1] ?? null;
    if (call.opId !== null && this.applied.includes(call.opId)) return [200, this.change(stepId, true, call.opId)];
    if (this.isExpired()) return this.refusal(410, "run_expired");
    if (this.status !== "pending" && this.status !== "in_progress") return this.refusal(409, "run_closed");
    const refusal = this.apply(call, stepId, url);
    if (refusal !== null) return refusal;
    this.changed();
    if (call.opId !== null) this.applied.push(call.opId);
    if (call.opId !== null && this.signedIn !== null) this.by.set(call.opId, this.signedIn);
    return [200, this.change(stepId, false, call.opId)];
  }

  /** Checks in the service's order: session, membership, assignment. Opening assigns. */
  private refusedToMember(call: Call, init: RequestInit | undefined): Said | null {
    const who = init?.credentials === "same-origin" ? this.signedIn : null;
    const details = { organization: "Bright Kitchens", template_name: this.template.name, created_by_name: "Ada" };
    if (who === null) return [401, { error: "sign_in_required", message: "Sign in.", details }];
    if (!this.members.has(who)) return this.refusal(404, "run_not_found");
    const giver = new Headers(init?.headers).get("Answering-Member") ?? who;
    const assigned = this.identity.mode === "member" ? this.identity.user_id : null;
    if (giver !== who || (assigned !== null && assigned !== who)) return this.refusal(403, "assigned_to_another");
    if (call.method !== "GET") this.identity = { mode: "member", user_id: who };
    return null;
  }

  private apply(call: Call, stepId: string | null, url: URL): Said | null {
    const action = `${call.method} ${call.path.replace(/\?.*/, "").replace(stepId ?? "-", "*")}`;
    const body = (call.body ?? {}) as Record<string, JsonValue>;
    const asked = this.identity.mode === "external" && !this.identity.email;
    if (asked && !["PUT /identity", "POST /cancel"].includes(action)) return this.refusal(422, "validation_failed", "identity_required");
    if (stepId !== null && ["PUT", "POST"].includes(call.method) && !this.evaluate().applicable.has(stepId)) {
      return this.refusal(422, "answer_invalid", "not_applicable");
    }
    switch (action) {
      case "POST /open":
        return null;
      case "PUT /identity":
        if (!String(body["email"]).includes("@")) return this.refusal(422, "validation_failed", "invalid_format");
        this.identity = { mode: "external", name: String(body["name"]), email: String(body["email"]) };
        return null;
      case "PUT /answers/*":
        if (body["value"] === "refuse me") return this.refusal(422, "answer_invalid", "out_of_range");
        this.answers.set(stepId ?? "", this.newAnswer(body["value"] ?? null, this.answers.get(stepId ?? "")?.photos ?? []));
        this.skipped.delete(stepId ?? "");
        this.history.push([stepId ?? "", body["value"] ?? null]);
        break;
      case "DELETE /answers/*":
      case "POST /steps/*/skip":
        this.answers.delete(stepId ?? "");
        this.skipped.delete(stepId ?? "");
        if (call.method === "POST") this.skipped.add(stepId ?? "");
        this.history.push([stepId ?? "", null]);
        break;
      case "POST /answers/*/photos": {
        const known = this.answers.get(stepId ?? "");
        const photos = [...(known?.photos ?? []), this.newPhoto(call.body as Blob)];
        this.answers.set(stepId ?? "", this.newAnswer(known?.value ?? null, photos));
        break;
      }
      case "DELETE /answers/*/photos": {
        const index = Number(url.searchParams.get("photo_index"));
        const known = this.answers.get(stepId ?? "");
        if (!known?.photos.some((photo) => photo.photo_index === index)) return this.refusal(404, "not_found");
        this.answers.set(stepId ?? "", { ...known, photos: known.photos.filter((photo) => photo.photo_index !== index) });
        break;
      }
      case "PUT /signature":
      case "DELETE /signature":
        this.drawn = call.method === "PUT";
        return null;
      case "POST /submit":
        if (this.evaluate().missing.length > 0) return this.refusal(422, "required_steps_missing", "required");
        this.signatureName = (body["signature"] as { name?: string } | null)?.name ?? null;
        this.status = "completed";
        return null;
      case "POST /cancel":
        this.status = "cancelled";
        return null;
    }
    this.status = "in_progress";
    return null;
  }

  private evaluate() {
    return evaluate(this.template, this.answers, this.skipped);
  }

  private isExpired(): boolean {
    return this.expiresAt !== null && this.now().getTime() >= Date.parse(this.expiresAt);
  }

  private newAnswer(value: JsonValue, photos: readonly Photo[]): Answer {
    const at = new Date(this.now().getTime() + this.history.length).toISOString();
    return { value, photos, geo: null, at, by: null, received_at: at };
  }

  private newPhoto(content: Blob): Photo {
    const photo_index = this.photos++;
    const url = `https://checklists.example/photos/${photo_index}`;
    const size = { bytes: content.size, width: 1, height: 1 };
    return { photo_index, url, content_type: content.type, sha256: "", captured_at: null, captured_at_zone: null, ...size };
  }

  private state() {
    const { applicable, progress } = this.evaluate();
    const changes = this.changes === null ? {} : { changes: this.changes };
    const signature_drawing = this.drawn ? "https://checklists.example/photos/drawing" : null;
    const steps = { applicable_steps: [...applicable], skipped_steps: [...this.skipped] };
    return { run_id: RUN_ID, status: this.status, ...changes, progress, ...steps, signature_drawing };
  }

  private change(stepId: string | null, replayed: boolean, opId: string | null) {
    const answer = stepId === null ? undefined : (this.answers.get(stepId) ?? null);
    const photo = opId !== null && answer ? (answer.photos.at(-1) ?? null) : null;
    return { ...this.state(), replayed, ...(stepId === null ? {} : { answer, photo }) };
  }

  private view() {
    return {
      ...this.state(),
      template_id: "t-1",
      template_v: 1,
      template: this.template,
      created_by_name: "Ada",
      created_at: "2026-11-21T09:00:00Z",
      started_at: null,
      completed_at: null,
      cancelled_at: null,
      cancel_reason: null,
      expires_at: this.expiresAt,
      assigned_to: null,
      executor_identity: this.identity,
      answers: Object.fromEntries(this.answers),
      signature: null,
      missing_steps: this.evaluate().missing,
    };
  }

  private preview() {
    return { run_id: RUN_ID, status: this.status, template_name: this.template.name, step_count: 1, created_by_name: "Ada", expires_at: null };
  }

  private refusal(status: number, error: string, code?: string): Said {
    const details = code === undefined ? {} : { details: [{ path: "value", code, message: "No." }] };
    return [status, { error, message: "No.", ...details }];
  }

  private reply(status: number, body: unknown, headers: Record<string, string> = {}): Response {
    const date = this.now().toUTCString();
    return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json", Date: date, ...headers } });
  }
}
