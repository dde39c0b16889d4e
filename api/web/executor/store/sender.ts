/**
 * Sends queued operations: small ones in batches, and one upload at a time, each until the server has confirmed or
 * rejected it.
 *
 * At any point the tab may be killed, the response lost, or another tab take over: the operation is still in the queue
 * and is sent again with the same id, which makes it idempotent.
 */
import type { Change } from "../../core/types";
import { backoffMs } from "./backoff";
import { allToSend, type Lane, laneOf, type Links, nextToSend } from "./links";
import { type Batched, hasBlob, isBatched, type Operation, type Records } from "./records";
import { batchOf, type RunAddresses } from "./requests";
import type { Timers } from "./timers";
import { expired, isOpen } from "./server_state";
import { attempted, afterClose, confirmed, dequeued, withoutIdentity, reverted, refused } from "./transitions";
import type { Send } from "./transport";
import { StorageFull } from "./types";
import { type Verdict, verdictOf, verdictsOf } from "./verdict";

/** Dependencies on the store. */
export interface SenderDeps {
  readonly runId: string;
  readonly addresses: RunAddresses;
  readonly send: Send;
  readonly timers: Timers;
  records(): Records;
  links(): Links;
  change(decide: (before: Records) => Records): Promise<Records>;
  blob(id: string): Promise<Blob | null>;
  /** Reads the run; resolves to whether the service was reached. */
  refresh(): Promise<boolean>;
  /** Whether the state is too old to contain changes of other devices. */
  isStale(): boolean;
  /** The network has failed: read the state before sending. */
  markStale(): void;
  uploading(opId: string, share: number | null): void;
  arrived(operation: Operation, change: Change): void;
  /** Whether the run is gone for everyone, not only for this member. */
  gone(): Promise<boolean>;
  /** The token was rejected: returns whether another one is available, which is used from now on. */
  fallBack(): boolean;
  /** Whether the person may answer. */
  mayAnswer(): boolean;
  traffic(traffic: { reached?: boolean; denied?: boolean; failures: number }): void;
}

/** An operation with the server's verdict. */
type Result<Kind extends Verdict["kind"] = Verdict["kind"]> = readonly [Operation, Extract<Verdict, { kind: Kind }>];

const DENIED_MS = 60_000;
/**
 * How long batches are avoided after one was rejected as a whole: during an upgrade, an old replica may have responded.
 */
const SINGLY_MS = 600_000;
/** Status codes that do not concern the operation: from proxies, and from an overloaded service. */
const BUSY = new Set([408, 425, 429, 502, 503, 504]);
const LANES: readonly Lane[] = ["changes", "uploads"];

export class Sender {
  private running = false;
  private timer: unknown = null;
  /** How often this tab has sent each operation, even if that could not be stored. */
  readonly sent = new Map<string, number>();
  private readonly busy = new Set<Lane>();
  /** Operations that may have made a batch fail: sent one by one, they block no other. */
  private readonly alone = new Set<string>();
  private readonly failures = new Map<string, number>();
  private readonly heldUntil = new Map<string, number>();
  private readonly laneHeldUntil = new Map<Lane, number>();
  private networkFailures = 0;
  private pausedUntil = 0;
  private singlyUntil = 0;

  constructor(private readonly deps: SenderDeps) {}

  start(): void {
    this.running = true;
    this.wake();
  }

  stop(): void {
    this.running = false;
    this.deps.timers.clear(this.timer);
  }

  /** Starts sending; `again` resets all backoffs. */
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
        if (this.deps.isStale() && !(await this.deps.refresh())) {
          this.networkFailed();
          break;
        }
        // The read may have changed the queue.
        const operation = this.next(lane);
        if (operation === null) continue;
        const batch = this.batchFrom(operation);
        if (batch.length > 1) await this.attemptBatch(batch);
        else await this.attempt(operation);
      }
    } finally {
      this.busy.delete(lane);
    }
    this.schedule();
  }

  private next(lane: Lane): Operation | null {
    const now = this.now();
    if (!this.deps.mayAnswer() || this.pausedUntil > now || (this.laneHeldUntil.get(lane) ?? 0) > now) return null;
    const records = this.deps.records();
    return nextToSend(records.queue, this.deps.links(), identityMissing(records), this.wanted(lane, records));
  }

  private wanted(lane: Lane, records: Records): (operation: Operation) => boolean {
    const now = this.now();
    return (operation) =>
      laneOf(operation) === lane && (this.heldUntil.get(operation.opId) ?? 0) <= now && this.mayArrive(operation, records);
  }

  /** `first` and its successors that fit into one batch. */
  private batchFrom(first: Operation): readonly Batched[] {
    const fits = (operation: Operation): operation is Batched => isBatched(operation) && !this.alone.has(operation.opId);
    if (this.singlyUntil > this.now() || !fits(first)) return [];
    const records = this.deps.records();
    const batch: Batched[] = [];
    for (const operation of allToSend(records.queue, this.deps.links(), identityMissing(records), this.wanted("changes", records))) {
      if (!fits(operation)) break;
      batch.push(operation);
    }
    return batchOf(batch);
  }

  /** For a closed run, only operations are sent that may have arrived before it was closed. */
  private mayArrive(operation: Operation, { run }: Records): boolean {
    return run === null || isOpen(run.run) || operation.attempts > 0 || this.sent.has(operation.opId);
  }

  private async attempt(chosen: Operation): Promise<void> {
    try {
      const [operation] = await this.mark([chosen]);
      if (operation === undefined) return;
      const blob = hasBlob(operation) ? await this.deps.blob(operation.opId) : null;
      if (hasBlob(operation) && blob === null) {
        await this.settle([[operation, { kind: "refused", problems: [{ path: "photo", code: "lost_on_device" }] }]]);
        return;
      }
      const progress = (share: number) => this.deps.uploading(operation.opId, share);
      if (blob !== null) progress(0);
      const reply = await this.deps.send(this.deps.addresses.operation(operation, blob), progress);
      await this.settle([[operation, verdictOf(reply, this.deps.runId, this.deps.timers.now())]]);
    } catch {
      // The attempt could not be stored; the server recognises the operation's id when it is sent again.
      this.hold([chosen], null);
    } finally {
      this.deps.uploading(chosen.opId, null);
    }
  }

  private async attemptBatch(chosen: readonly Batched[]): Promise<void> {
    try {
      const operations = (await this.mark(chosen)).filter(isBatched);
      if (operations.length === 0) return;
      const reply = await this.deps.send(this.deps.addresses.batch(operations));
      const opIds = operations.map((operation) => operation.opId);
      const verdicts = verdictsOf(reply, opIds, this.deps.runId, this.deps.timers.now());
      if (verdicts === null) {
        this.singlyUntil = this.now() + SINGLY_MS;
        return await this.revert(operations);
      }
      const failed = reply.kind === "http" && reply.status >= 400 && !BUSY.has(reply.status) && verdicts[0]?.kind === "again";
      if (failed) for (const opId of opIds) this.alone.add(opId);
      await this.settle(operations.map((operation, place) => [operation, verdicts[place]] as Result));
    } catch {
      this.hold(chosen, null);
    }
  }

  /** Returns the stored operations, marked as attempted; removed ones are omitted. */
  private async mark(chosen: readonly Operation[]): Promise<readonly Operation[]> {
    const opIds = chosen.map((operation) => operation.opId);
    for (const opId of opIds) this.sent.set(opId, (this.sent.get(opId) ?? 0) + 1);
    try {
      const after = await this.deps.change((before) => opIds.reduce(attempted, before));
      return after.queue.filter((operation) => opIds.includes(operation.opId));
    } catch (error) {
      // Sending frees space on a full device, so it must continue.
      if (error instanceof StorageFull) return chosen.map((operation) => ({ ...operation, attempts: operation.attempts + 1 }));
      throw error;
    }
  }

  /** Not applied by the server: the attempt does not count, so that e.g. a submit can still be withdrawn. */
  private async revert(operations: readonly Operation[]): Promise<void> {
    for (const { opId } of operations) {
      const before = (this.sent.get(opId) ?? 1) - 1;
      if (before > 0) this.sent.set(opId, before);
      else this.sent.delete(opId);
    }
    await this.deps.change((before) => operations.reduce(reverted, before));
  }

  private async settle(results: readonly Result[]): Promise<void> {
    const of = <Kind extends Verdict["kind"]>(...kinds: Kind[]) =>
      results.filter(([, verdict]) => kinds.some((kind) => kind === verdict.kind)) as unknown as readonly Result<Kind>[];
    const names = (some: readonly Result[]) => some.map(([operation]) => operation);
    const [answered, closed, again] = [of("confirmed", "refused"), of("closed"), of("again")];
    if (answered.length > 0) {
      this.reached();
      await this.commit(answered);
      this.forget(names(answered));
    }
    if (closed.length > 0) await this.close(closed);
    if (of("identity_missing").length > 0) {
      this.reached();
      if (!identityMissing(await this.deps.change(withoutIdentity))) this.hold(names(of("identity_missing")), null);
    }
    if (of("not_the_member").length > 0) {
      this.pause();
      this.deps.traffic({ reached: true, failures: this.worst() });
      await this.revert(names(of("not_the_member")));
      await this.deps.refresh();
    }
    if (of("denied").length > 0 && !this.deps.fallBack()) {
      this.pause();
      this.deps.traffic({ reached: true, denied: true, failures: this.worst() });
    }
    const [first] = again;
    if (first === undefined) return;
    if (first[1].cause === "network") return this.networkFailed();
    this.hold(names(again), first[1].afterMs);
    const blocked = again.filter(([, verdict]) => verdict.cause === "proxy");
    if (blocked.length > 0) await this.revert(names(blocked));
  }

  /** In one transaction, so that a long queue is processed once. */
  private async commit(answered: readonly Result<"confirmed" | "refused">[]): Promise<void> {
    for (const [operation, verdict] of answered) if (verdict.kind === "confirmed") this.deps.arrived(operation, verdict.change);
    const after = (before: Records) =>
      answered.reduce((records, [operation, verdict]) => {
        if (!isQueued(records, operation)) return records;
        return verdict.kind === "confirmed" ? confirmed(records, operation, verdict.change) : refused(records, operation, verdict.problems);
      }, before);
    try {
      await this.deps.change(after);
    } catch (error) {
      const done = answered.flatMap(([operation, verdict]) => (verdict.kind === "confirmed" ? [[operation, verdict.change] as const] : []));
      if (!(error instanceof StorageFull) || done.length === 0) throw error;
      // Deleting needs no space; the state is read again, and rejected operations are rejected again.
      await this.deps.change((before) => done.reduce((records, [operation, change]) => dequeued(records, operation, change), before));
      await this.deps.refresh();
    }
    if (answered.some(([{ kind }, verdict]) => verdict.kind === "confirmed" && (kind === "submit" || kind === "cancel"))) {
      await this.deps.refresh();
    }
  }

  private async close(closed: readonly Result<"closed">[]): Promise<void> {
    this.reached();
    const why = new Set(closed.map(([, verdict]) => verdict.why));
    if (why.has("closed")) await this.deps.refresh();
    if (why.has("gone") && !(await this.deps.gone())) return this.pause();
    await this.deps.change((before) =>
      closed.reduce((records, [operation]) => {
        if (!isQueued(records, operation)) return records;
        return afterClose(why.has("expired") ? expired(records) : records, operation);
      }, before),
    );
    this.forget(closed.map(([operation]) => operation));
  }

  /** Removes their retry state. */
  private forget(operations: readonly Operation[]): void {
    for (const { opId } of operations) {
      this.failures.delete(opId);
      this.alone.delete(opId);
      this.heldUntil.delete(opId);
    }
    this.deps.traffic({ failures: this.worst() });
    // Operations in the other lane may have waited for them.
    this.wake();
  }

  /** The same delay for all, so that they stay one batch. */
  private hold(operations: readonly Operation[], afterMs: number | null): void {
    const failures = 1 + Math.max(...operations.map(({ opId }) => this.failures.get(opId) ?? 0));
    const until = this.now() + (afterMs ?? backoffMs(failures, this.deps.timers.chance()));
    for (const operation of operations) {
      this.failures.set(operation.opId, failures);
      if (afterMs === null) this.heldUntil.set(operation.opId, until);
      else this.laneHeldUntil.set(laneOf(operation), until);
    }
    this.networkFailures = 0;
    this.deps.traffic({ reached: true, failures: this.worst() });
  }

  private pause(): void {
    this.pausedUntil = this.now() + DENIED_MS;
  }

  private networkFailed(): void {
    this.networkFailures += 1;
    this.deps.markStale();
    this.pausedUntil = this.now() + backoffMs(this.networkFailures, this.deps.timers.chance());
    this.deps.traffic({ reached: false, failures: this.worst() });
  }

  private reached(): void {
    this.networkFailures = 0;
    this.deps.traffic({ reached: true, denied: false, failures: this.worst() });
  }

  private worst(): number {
    const queued = new Set(this.deps.records().queue.map((operation) => operation.opId));
    return Math.max(0, ...[...this.failures].filter(([opId]) => queued.has(opId)).map(([, failures]) => failures));
  }

  private now(): number {
    return this.deps.timers.now().getTime();
  }

  /** Schedules the end of the first delay. */
  private schedule(): void {
    const { timers } = this.deps;
    timers.clear(this.timer);
    const { queue } = this.deps.records();
    if (!this.running || queue.length === 0) return;
    const waits = [
      this.pausedUntil,
      ...this.laneHeldUntil.values(),
      ...queue.map((operation) => this.heldUntil.get(operation.opId) ?? 0),
    ].filter((until) => until > this.now());
    if (waits.length > 0) this.timer = timers.set(() => this.wake(), Math.min(...waits) - this.now());
  }
}

/** Another tab may have received the result earlier. */
function isQueued(records: Records, { opId }: Operation): boolean {
  return records.queue.some((operation) => operation.opId === opId);
}

function identityMissing({ run }: Records): boolean {
  const identity = run?.run.executor_identity;
  return (identity?.mode === "external" && !identity.email) || (identity?.mode === "member" && identity.user_id === null);
}
