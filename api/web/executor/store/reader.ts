/** Reads the run, or its preview, from the server, and reports failures. */
import type { Preview, ServerRun, Template } from "../../core/types";
import { backoffMs, retryAfterMs } from "./backoff";
import type { MemberDoor } from "./membership";
import type { Failure } from "./phase";
import type { Records } from "./records";
import type { RunAddresses } from "./requests";
import type { Timers } from "./timers";
import { expired, refreshed, withoutTemplate } from "./server_state";
import { closedTo } from "./transitions";
import type { Send } from "./transport";
import type { Reply } from "./verdict";

/** Dependencies on the store. */
export interface Shelf {
  readonly runId: string;
  readonly addresses: RunAddresses;
  readonly send: Send;
  readonly door: MemberDoor;
  readonly timers: Timers;
  hasToken(): boolean;
  records(): Records;
  change(decide: (before: Records) => Records): Promise<Records>;
  remember(template: Template): Promise<void>;
  isOffline(): boolean;
  heard(reply: Reply): void;
  /** Server clock minus device clock, in milliseconds. */
  clockOffsetMs(): number;
  show(preview: Preview): void;
  failed(failure: Failure): void;
  /** Whether the last request reached the service. */
  reached(reached: boolean): void;
  barred(): void;
  /** The token was rejected: returns whether another one is available, which is used from now on. */
  retreat(): boolean;
}

/** Poll interval for changes of other devices while the page is visible. */
const POLL_MS = 30_000;
const STALE_MS = 30_000;

export class Reader {
  private reading: Promise<boolean> | null = null;
  private timer: unknown = null;
  private failures = 0;
  private doubtful = false;
  private askedToWaitMs = 0;
  private lastRead = Number.NEGATIVE_INFINITY;
  private ended = false;

  constructor(private readonly shelf: Shelf) {}

  /**
   * Whether to read before sending: to see changes of other devices, and because losing a read is harmless, while a
   * lost write may have arrived.
   */
  isStale(): boolean {
    return this.doubtful || this.shelf.isOffline() || this.now() - this.lastRead > STALE_MS;
  }

  /** The network has failed since the last read. */
  doubt(): void {
    this.doubtful = true;
  }

  /** Resolves to whether the service was reached. Concurrent calls share one request. */
  read(): Promise<boolean> {
    this.reading ??= this.readOnce().finally(() => {
      this.reading = null;
      this.schedule();
    });
    return this.reading;
  }

  close(): void {
    this.ended = true;
    this.shelf.timers.clear(this.timer);
  }

  private async readOnce(): Promise<boolean> {
    const { shelf } = this;
    const withToken = shelf.hasToken();
    const epoch = shelf.records().run?.epoch ?? -1;
    const first = await shelf.send(withToken ? shelf.addresses.run() : shelf.addresses.preview());
    shelf.heard(first);
    const reply = withToken ? await shelf.door.passed(first) : first;
    const reached = reply === null || (reply.kind === "http" && isOurs(reply, shelf.runId));
    if (reached) {
      this.lastRead = this.now();
      this.failures = 0;
      this.doubtful = false;
    } else this.failures += 1;
    this.askedToWaitMs = reply?.kind === "http" ? (retryAfterMs(reply.retryAfter, shelf.timers.now()) ?? 0) : 0;
    shelf.reached(reached || (reply.kind === "http" && (reply.status === 429 || reply.status >= 500)));
    if (reply === null) shelf.failed("none");
    else if (reply.kind === "network") shelf.failed(shelf.isOffline() ? "offline" : "unreachable");
    else if (!reached) shelf.failed("unreachable");
    else await this.take(reply, withToken, epoch);
    return reached || reply?.kind === "http";
  }

  private async take(reply: Extract<Reply, { kind: "http" }>, withToken: boolean, epoch: number): Promise<void> {
    const { shelf } = this;
    const known = shelf.records().run !== null;
    if (reply.status === 401) {
      if (shelf.retreat()) await this.readOnce();
      else if (known) shelf.barred();
      else shelf.failed("not_found");
    } else if (reply.status === 404) {
      await shelf.change((before) => closedTo(before, null));
      shelf.failed("not_found");
    } else if (reply.status === 410) {
      await shelf.change(expired);
      shelf.failed("expired");
    } else if (!withToken) {
      shelf.show(reply.body as unknown as Preview);
      shelf.failed("none");
    } else {
      await this.keep(reply.body as unknown as ServerRun, epoch);
      shelf.failed("none");
    }
  }

  private async keep(run: ServerRun, epoch: number): Promise<void> {
    const { shelf } = this;
    const remembered = shelf.remember(run.template);
    const offset = shelf.clockOffsetMs();
    const now = new Date(this.now() + offset);
    await shelf.change((before) => refreshed(before, withoutTemplate(run), epoch, offset, now));
    await remembered;
  }

  /** Schedules the next read: soon while there is nothing to show, else at the poll interval. */
  private schedule(): void {
    const { timers } = this.shelf;
    timers.clear(this.timer);
    if (this.ended) return;
    const usual = this.failures > 0 ? backoffMs(this.failures, timers.chance()) : POLL_MS;
    const wait = Math.max(usual, this.askedToWaitMs);
    this.timer = timers.set(() => {
      if (this.isWanted()) void this.read();
      else this.schedule();
    }, wait);
  }

  private isWanted(): boolean {
    const run = this.shelf.records().run?.run;
    const over = run !== undefined && run.status !== "pending" && run.status !== "in_progress";
    const hidden = typeof document === "object" && document.visibilityState === "hidden";
    return !over && !hidden;
  }

  private now(): number {
    return this.shelf.timers.now().getTime();
  }
}

/** Whether the response is the service's own and final: not from a proxy, and not temporary. */
function isOurs(reply: Extract<Reply, { kind: "http" }>, runId: string): boolean {
  if (reply.status === 200) return reply.body?.["run_id"] === runId;
  return [401, 404, 410].includes(reply.status) && typeof reply.body?.["error"] === "string";
}
