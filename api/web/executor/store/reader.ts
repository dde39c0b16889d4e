/** Reads the run, or its preview, from the server, and reports failures. */
import type { Preview, ServerRun, Template } from "../../core/types";
import { backoffMs, retryAfterMs } from "./backoff";
import type { MemberAccess } from "./membership";
import type { Failure } from "./phase";
import type { Records } from "./records";
import type { RunAddresses } from "./requests";
import type { Timers } from "./timers";
import { expired, refreshed, withoutTemplate } from "./server_state";
import { afterClose } from "./transitions";
import type { Send } from "./transport";
import type { Reply } from "./verdict";

/** Dependencies on the store. */
export interface ReaderDeps {
  readonly runId: string;
  readonly addresses: RunAddresses;
  readonly send: Send;
  readonly access: MemberAccess;
  readonly timers: Timers;
  hasToken(): boolean;
  records(): Records;
  change(decide: (before: Records) => Records): Promise<Records>;
  remember(template: Template): Promise<void>;
  isOffline(): boolean;
  /** Whether changes of other devices are reported. */
  isWatched(): boolean;
  /** A read has ended. */
  done(): void;
  /** Server clock minus device clock, in milliseconds. */
  clockOffsetMs(): number;
  show(preview: Preview): void;
  failed(failure: Failure): void;
  /** Whether the last request reached the service. */
  reached(reached: boolean): void;
  denied(): void;
  /** The token was rejected: returns whether another one is available, which is used from now on. */
  fallBack(): boolean;
}

/** Poll interval for changes of other devices while the page is visible and they are not reported. */
const POLL_MS = 30_000;
/** If they are reported: signed URLs must not expire. */
const WATCHED_POLL_MS = 600_000;
const STALE_MS = 30_000;

export class Reader {
  private reading: Promise<boolean> | null = null;
  private timer: unknown = null;
  private failures = 0;
  private stale = false;
  private askedToWaitMs = 0;
  private lastRead = Number.NEGATIVE_INFINITY;
  private ended = false;

  constructor(private readonly deps: ReaderDeps) {}

  /**
   * Whether to read before sending: to see changes of other devices, and because losing a read is harmless, while a
   * lost write may have arrived.
   */
  isStale(): boolean {
    const isOld = !this.deps.isWatched() && this.now() - this.lastRead > STALE_MS;
    return this.stale || this.deps.isOffline() || isOld;
  }

  /** The network has failed since the last read. */
  markStale(): void {
    this.stale = true;
  }

  /** Resolves to whether the service was reached. Concurrent calls share one request. */
  read(): Promise<boolean> {
    this.reading ??= this.readOnce().finally(() => {
      this.reading = null;
      if (!this.ended) this.deps.done();
      this.schedule();
    });
    return this.reading;
  }

  close(): void {
    this.ended = true;
    this.deps.timers.clear(this.timer);
  }

  private async readOnce(): Promise<boolean> {
    const { deps } = this;
    const withToken = deps.hasToken();
    const epoch = deps.records().run?.epoch ?? -1;
    const first = await deps.send(withToken ? deps.addresses.run() : deps.addresses.preview());
    const reply = withToken ? await deps.access.passed(first) : first;
    const reached = reply === null || (reply.kind === "http" && isOurs(reply, deps.runId));
    if (reached) {
      this.lastRead = this.now();
      this.failures = 0;
      this.stale = false;
    } else this.failures += 1;
    this.askedToWaitMs = reply?.kind === "http" ? (retryAfterMs(reply.retryAfter, deps.timers.now()) ?? 0) : 0;
    deps.reached(reached || (reply.kind === "http" && (reply.status === 429 || reply.status >= 500)));
    if (reply === null) deps.failed("none");
    else if (reply.kind === "network") deps.failed(deps.isOffline() ? "offline" : "unreachable");
    else if (!reached) deps.failed("unreachable");
    else await this.take(reply, withToken, epoch);
    return reached || reply?.kind === "http";
  }

  private async take(reply: Extract<Reply, { kind: "http" }>, withToken: boolean, epoch: number): Promise<void> {
    const { deps } = this;
    const known = deps.records().run !== null;
    if (reply.status === 401) {
      if (deps.fallBack()) await this.readOnce();
      else if (known) deps.denied();
      else deps.failed("not_found");
    } else if (reply.status === 404) {
      await deps.change((before) => afterClose(before, null));
      deps.failed("not_found");
    } else if (reply.status === 410) {
      await deps.change(expired);
      deps.failed("expired");
    } else if (!withToken) {
      deps.show(reply.body as unknown as Preview);
      deps.failed("none");
    } else {
      await this.keep(reply.body as unknown as ServerRun, epoch);
      deps.failed("none");
    }
  }

  private async keep(run: ServerRun, epoch: number): Promise<void> {
    const { deps } = this;
    const remembered = deps.remember(run.template);
    const offset = deps.clockOffsetMs();
    const now = new Date(this.now() + offset);
    await deps.change((before) => refreshed(before, withoutTemplate(run), epoch, offset, now));
    await remembered;
  }

  /** Schedules the next read: soon while there is nothing to show, else at the poll interval. */
  private schedule(): void {
    const { timers } = this.deps;
    timers.clear(this.timer);
    if (this.ended) return;
    const pollMs = this.deps.isWatched() ? WATCHED_POLL_MS : POLL_MS;
    const usual = this.failures > 0 ? backoffMs(this.failures, timers.chance()) : pollMs;
    const wait = Math.max(usual, this.askedToWaitMs);
    this.timer = timers.set(() => {
      if (this.isWanted()) void this.read();
      else this.schedule();
    }, wait);
  }

  private isWanted(): boolean {
    const run = this.deps.records().run?.run;
    const over = run !== undefined && run.status !== "pending" && run.status !== "in_progress";
    const hidden = typeof document === "object" && document.visibilityState === "hidden";
    return !over && !hidden;
  }

  private now(): number {
    return this.deps.timers.now().getTime();
  }
}

/**
 * Whether the response is the service's own and final: not from a proxy, and not temporary. What waits is discarded at
 * the end of a run, so only the service's own codes tell it. An address without a run id is not one of the service.
 */
function isOurs(reply: Extract<Reply, { kind: "http" }>, runId: string): boolean {
  const { status, body } = reply;
  if (status === 200) return body?.["run_id"] === runId;
  const code = body?.["error"];
  if (status === 404) return code === "run_not_found" || runId === "";
  return status === 410 ? code === "run_expired" : status === 401 && typeof code === "string";
}
