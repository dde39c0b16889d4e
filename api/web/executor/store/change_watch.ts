/**
 * Learns of changes of other devices: one request that the service answers when the run has more changes than this
 * device knows, and that costs the service next to nothing while it waits. Without it (an older service, a proxy that
 * ends it), the run is polled as before.
 */
import { backoffMs, retryAfterMs } from "./backoff";
import type { RunAddresses } from "./requests";
import type { Timers } from "./timers";
import type { Send } from "./transport";
import type { Reply } from "./verdict";

/** Dependencies on the store. */
export interface ChangeWatchDeps {
  readonly runId: string;
  readonly addresses: RunAddresses;
  readonly send: Send;
  readonly timers: Timers;
  /** The number of changes of the state on this device; null if the run is not to be watched now. */
  known(): number | null;
  /** Whether own changes are on their way: they are counted, too. */
  isSending(): boolean;
  /** Reads the run; resolves to whether the service was reached. */
  read(): Promise<boolean>;
}

/** Proxies commonly end requests after 60 seconds without data. */
export const WAIT_S = 50;
const LEAST_WAIT_S = 10;
/** Own changes end the waiting, too: a person who answers quickly causes one request per second at most. */
export const PAUSE_MS = 1_000;
/** After a read: the page has other things to load first. */
const START_MS = 2_000;
/** Without reports of changes. */
const POLL_MS = 30_000;

export class ChangeWatch {
  private current: AbortController | null = null;
  private waitS = WAIT_S;
  private failures = 0;
  private ended = false;

  constructor(private readonly deps: ChangeWatchDeps) {}

  /** Whether the state is current, so that it need not be polled. */
  get works(): boolean {
    return this.current !== null && this.failures === 0;
  }

  /** Starts to wait, unless it does already. */
  wake(): void {
    if (this.current !== null || this.ended || this.deps.known() === null) return;
    const current = new AbortController();
    this.current = current;
    void this.watch(current.signal).finally(() => {
      if (this.current === current) this.current = null;
    });
  }

  /** Stops waiting, e.g. while the page is hidden. */
  stop(): void {
    this.current?.abort();
    this.current = null;
  }

  close(): void {
    this.ended = true;
    this.stop();
  }

  private async watch(signal: AbortSignal): Promise<void> {
    await this.pause(START_MS, signal);
    for (let known = this.deps.known(); known !== null && !signal.aborted; known = this.deps.known()) {
      const reply = await this.deps.send({ ...this.deps.addresses.changes(known, this.waitS), signal });
      if (signal.aborted) return;
      const changes = changesIn(reply, this.deps.runId);
      await (changes === null ? this.failed(reply, signal) : this.took(changes, signal));
    }
  }

  private async took(changes: number, signal: AbortSignal): Promise<void> {
    this.failures = 0;
    const isNews = () => changes > (this.deps.known() ?? changes);
    if (!isNews()) return this.pause(PAUSE_MS, signal);
    if (this.deps.isSending()) await this.pause(PAUSE_MS, signal);
    if (signal.aborted || !isNews()) return;
    await this.deps.read();
    // A read is discarded if an own change was confirmed meanwhile.
    if (isNews()) await this.pause(PAUSE_MS, signal);
  }

  private async failed(reply: Reply, signal: AbortSignal): Promise<void> {
    this.failures += 1;
    const { timers } = this.deps;
    if (reply.kind === "network") {
      // If only this request failed, something on the way does not let it take so long.
      if (await this.deps.read()) this.waitS = Math.max(LEAST_WAIT_S, this.waitS / 2);
      return this.pause(backoffMs(this.failures, timers.chance()), signal);
    }
    if (reply.status === 504) this.waitS = Math.max(LEAST_WAIT_S, this.waitS / 2);
    const askedMs = retryAfterMs(reply.retryAfter, timers.now()) ?? 0;
    await this.pause(Math.max(POLL_MS, askedMs), signal);
    if (!signal.aborted) await this.deps.read();
  }

  private pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = () => {
        this.deps.timers.clear(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.deps.timers.set(end, ms);
      signal.addEventListener("abort", end);
    });
  }
}

/** The number of changes; null if this is no response of the service. */
function changesIn(reply: Reply, runId: string): number | null {
  if (reply.kind !== "http" || reply.status !== 200 || reply.body?.["run_id"] !== runId) return null;
  const changes = reply.body["changes"];
  return typeof changes === "number" ? changes : null;
}
