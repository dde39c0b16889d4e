/**
 * Sends what waits: one small change and one upload at a time, each until the server has said what becomes of it.
 *
 * Whatever happens between two lines here - the tab is killed, the reply is lost, another tab takes over - the
 * operation is still in the queue and is sent again under the same id, which the server recognises.
 */
import type { Change } from "../../core/types";
import { backoffMs } from "./backoff";
import { type Lane, laneOf, type Links, nextToSend } from "./links";
import { hasBlob, type Operation, type Records } from "./records";
import type { RunAddresses } from "./requests";
import type { Timers } from "./timers";
import { expired, isOpen } from "./server_state";
import { attempted, closedTo, confirmed, identityForgotten, notTaken, refused } from "./transitions";
import type { Send } from "./transport";
import { StorageFull } from "./types";
import { type Reply, type Verdict, verdictOf } from "./verdict";

/** What the sender needs of the store. */
export interface Counter {
  readonly runId: string;
  readonly addresses: RunAddresses;
  readonly send: Send;
  readonly timers: Timers;
  records(): Records;
  links(): Links;
  change(decide: (before: Records) => Records): Promise<Records>;
  blob(id: string): Promise<Blob | null>;
  /** Reads the run from the server; resolves to whether the service was reached. */
  refresh(): Promise<boolean>;
  /** Whether the state is too old to see what other devices did meanwhile. */
  isStale(): boolean;
  /** The network has failed: the state is to be read before anything else is sent. */
  doubt(): void;
  heard(reply: Reply): void;
  uploading(opId: string, share: number | null): void;
  arrived(operation: Operation, change: Change): void;
  /** Whether the run is gone for everybody, and not only for who is signed in. */
  gone(): Promise<boolean>;
  /** Whether the person may answer at all. */
  mayAnswer(): boolean;
  traffic(traffic: { reached?: boolean; barred?: boolean; failures: number }): void;
}

const BARRED_MS = 60_000;
const LANES: readonly Lane[] = ["changes", "uploads"];

export class Sender {
  private running = false;
  private timer: unknown = null;
  /** Operations that this tab has sent, also where that could not be noted down. */
  readonly touched = new Set<string>();
  private readonly busy = new Set<Lane>();
  private readonly failures = new Map<string, number>();
  private readonly heldUntil = new Map<string, number>();
  private readonly laneHeldUntil = new Map<Lane, number>();
  private networkFailures = 0;
  private pausedUntil = 0;

  constructor(private readonly counter: Counter) {}

  start(): void {
    this.running = true;
    this.wake();
  }

  stop(): void {
    this.running = false;
    this.counter.timers.clear(this.timer);
  }

  /** Something to send, or a reason to try at once: `again` forgets the waits that only guess. */
  wake(again = false): void {
    if (again) {
      this.pausedUntil = 0;
      this.heldUntil.clear();
    }
    if (!this.running) return;
    for (const lane of LANES) void this.pump(lane);
  }

  private async pump(lane: Lane): Promise<void> {
    if (this.busy.has(lane)) return;
    this.busy.add(lane);
    try {
      for (let next = this.next(lane); next !== null && this.running; next = this.next(lane)) {
        if (this.counter.isStale() && !(await this.counter.refresh())) {
          this.networkFailed();
          break;
        }
        // What was read may have changed what there is to send.
        const operation = this.next(lane);
        if (operation !== null) await this.attempt(operation);
      }
    } finally {
      this.busy.delete(lane);
    }
    this.schedule();
  }

  private next(lane: Lane): Operation | null {
    const now = this.now();
    if (!this.counter.mayAnswer() || this.pausedUntil > now || (this.laneHeldUntil.get(lane) ?? 0) > now) return null;
    const records = this.counter.records();
    const wanted = (operation: Operation) =>
      laneOf(operation) === lane && (this.heldUntil.get(operation.opId) ?? 0) <= now && this.mayArrive(operation, records);
    return nextToSend(records.queue, this.counter.links(), identityMissing(records), wanted);
  }

  /** A closed run is asked only about what it may have taken before it was closed. */
  private mayArrive(operation: Operation, { run }: Records): boolean {
    return run === null || isOpen(run.run) || operation.attempts > 0 || this.touched.has(operation.opId);
  }

  private async attempt(chosen: Operation): Promise<void> {
    try {
      const operation = await this.noted(chosen);
      if (operation === null) return;
      const blob = hasBlob(operation) ? await this.counter.blob(operation.opId) : null;
      if (hasBlob(operation) && blob === null) {
        await this.settle(operation, { kind: "refused", problems: [{ path: "photo", code: "lost_on_device" }] });
        return;
      }
      const progress = (share: number) => this.counter.uploading(operation.opId, share);
      if (blob !== null) progress(0);
      const reply = await this.counter.send(this.counter.addresses.operation(operation, blob), progress);
      this.counter.heard(reply);
      await this.settle(operation, verdictOf(reply, this.counter.runId, this.counter.timers.now()));
    } catch {
      // Nothing could be noted down; the server knows the operation's id when it comes again.
      this.hold(chosen, null);
    } finally {
      this.counter.uploading(chosen.opId, null);
    }
  }

  /** The operation as it is kept now, marked as one that may have reached the server; null if it is not kept any more. */
  private async noted(chosen: Operation): Promise<Operation | null> {
    this.touched.add(chosen.opId);
    try {
      const after = await this.counter.change((before) => attempted(before, chosen.opId));
      return after.queue.find((operation) => operation.opId === chosen.opId) ?? null;
    } catch (error) {
      // A full device gets room again by sending, so that must go on.
      if (error instanceof StorageFull) return chosen;
      throw error;
    }
  }

  private async settle(operation: Operation, verdict: Verdict): Promise<void> {
    switch (verdict.kind) {
      case "confirmed":
        this.reached();
        this.counter.arrived(operation, verdict.change);
        await this.confirm(operation, verdict.change);
        break;
      case "refused":
        this.reached();
        await this.ifQueued(operation, (before) => refused(before, operation, verdict.problems));
        break;
      case "closed":
        this.reached();
        if (verdict.why === "closed") await this.counter.refresh();
        if (verdict.why === "gone" && !(await this.counter.gone())) return this.pause();
        await this.ifQueued(operation, (before) =>
          closedTo(verdict.why === "expired" ? expired(before) : before, operation),
        );
        break;
      case "identity_missing":
        this.reached();
        if (!identityMissing(await this.counter.change(identityForgotten))) this.hold(operation, null);
        return;
      case "not_the_member":
        this.pause();
        this.counter.traffic({ reached: true, failures: this.worst() });
        // Its attempt does not count: a submit, say, can still be taken back.
        if (operation.attempts === 1) this.touched.delete(operation.opId);
        await this.counter.change((before) => notTaken(before, operation.opId));
        await this.counter.refresh();
        return;
      case "barred":
        this.pause();
        this.counter.traffic({ reached: true, barred: true, failures: this.worst() });
        return;
      case "again":
        if (verdict.cause === "network") this.networkFailed();
        else this.hold(operation, verdict.afterMs);
        return;
    }
    this.failures.delete(operation.opId);
    this.heldUntil.delete(operation.opId);
    this.counter.traffic({ failures: this.worst() });
    // What waited for this one may be in the other lane.
    this.wake();
  }

  private async confirm(operation: Operation, change: Change): Promise<void> {
    try {
      await this.ifQueued(operation, (before) => confirmed(before, operation, change));
    } catch (error) {
      if (!(error instanceof StorageFull)) throw error;
      // Letting go needs no room; the state is read anew.
      const without = (before: Records) => ({
        ...before,
        queue: before.queue.filter((other) => other.opId !== operation.opId),
      });
      await this.counter.change(without);
      await this.counter.refresh();
    }
    if (operation.kind === "submit" || operation.kind === "cancel") await this.counter.refresh();
  }

  /** Another tab may have heard of it before. */
  private async ifQueued(operation: Operation, decide: (before: Records) => Records): Promise<void> {
    await this.counter.change((before) =>
      before.queue.some((other) => other.opId === operation.opId) ? decide(before) : before,
    );
  }

  private hold(operation: Operation, afterMs: number | null): void {
    const failures = (this.failures.get(operation.opId) ?? 0) + 1;
    this.failures.set(operation.opId, failures);
    const until = this.now() + (afterMs ?? backoffMs(failures, this.counter.timers.chance()));
    if (afterMs === null) this.heldUntil.set(operation.opId, until);
    else this.laneHeldUntil.set(laneOf(operation), until);
    this.networkFailures = 0;
    this.counter.traffic({ reached: true, failures: this.worst() });
  }

  private pause(): void {
    this.pausedUntil = this.now() + BARRED_MS;
  }

  private networkFailed(): void {
    this.networkFailures += 1;
    this.counter.doubt();
    this.pausedUntil = this.now() + backoffMs(this.networkFailures, this.counter.timers.chance());
    this.counter.traffic({ reached: false, failures: this.worst() });
  }

  private reached(): void {
    this.networkFailures = 0;
    this.counter.traffic({ reached: true, barred: false, failures: this.worst() });
  }

  private worst(): number {
    const queued = new Set(this.counter.records().queue.map((operation) => operation.opId));
    return Math.max(0, ...[...this.failures].filter(([opId]) => queued.has(opId)).map(([, failures]) => failures));
  }

  private now(): number {
    return this.counter.timers.now().getTime();
  }

  /** Wakes up when the first wait is over. */
  private schedule(): void {
    const { timers } = this.counter;
    timers.clear(this.timer);
    const { queue } = this.counter.records();
    if (!this.running || queue.length === 0) return;
    const waits = [
      this.pausedUntil,
      ...this.laneHeldUntil.values(),
      ...queue.map((operation) => this.heldUntil.get(operation.opId) ?? 0),
    ].filter((until) => until > this.now());
    if (waits.length > 0) this.timer = timers.set(() => this.wake(), Math.min(...waits) - this.now());
  }
}

function identityMissing({ run }: Records): boolean {
  const identity = run?.run.executor_identity;
  return (identity?.mode === "external" && !identity.email) || (identity?.mode === "member" && identity.user_id === null);
}
