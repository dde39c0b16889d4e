/** One run in one tab: writes the person's actions to the database, and results of reader and sender to the state. */
import { batch, type ReadonlySignal } from "@preact/signals";
import { localTimestamp, takesDrawing } from "../../core";
import type { Change, Geo, JsonValue } from "../../core/types";
import { browserChannel, browserLocks, listen, persistStorage } from "./browser_apis";
import { ChangeWatch, type ChangeWatchDeps } from "./change_watch";
import { databaseName, type Keeper, RunDatabase } from "./database";
import { type MembershipDeps, MemberAccess } from "./membership";
import { RunMemory } from "./memory";
import { newOpId } from "./op_id";
import { Reader, type ReaderDeps } from "./reader";
import { fetchReceipt, type ReceiptReply } from "./receipt_file";
import { NO_RECORDS, type Operation, type Records, stepOf, THE_DRAWING, type Command } from "./records";
import { RunAddresses } from "./requests";
import { type SenderDeps, Sender } from "./sender";
import { ServerClock } from "./server_clock";
import { RunState } from "./state";
import { isOpen } from "./server_state";
import { type Channel, Tabs } from "./tabs";
import { realTimers, type Timers } from "./timers";
import { dismissed, ending, enqueued, inPlaceOf, refusedPhotoRemoved, type Stamp, withdrawn } from "./transitions";
import { httpTransport, type Send } from "./transport";
import { type Membership, type RunStore, StorageFull } from "./types";
import { watchUpdates } from "./updates";
import type { Reply } from "./verdict";

export interface StoreOptions {
  readonly runId: string;
  /** From the link; null if the page was opened without it. The stored token is used then. */
  readonly token: string | null;
  /** The service's base, e.g. `https://host/prefix/v1/`. */
  readonly api: URL;
  readonly fetch?: typeof fetch;
  readonly now?: () => Date;
  readonly timers?: Timers;
  readonly db?: IDBFactory;
  /** null: this is the only tab. */
  readonly locks?: LockManager | null;
  readonly channel?: ((name: string) => Channel | null) | null;
}

export function createStore(options: StoreOptions): RunStore {
  return new LocalRun(options);
}

class LocalRun extends RunState implements RunStore {
  readonly membership: ReadonlySignal<Membership>;
  private readonly timers: Timers;
  private database: Keeper;
  private readonly tabs: Tabs;
  private readonly send: Send;
  private readonly addresses: RunAddresses;
  private readonly access: MemberAccess;
  private readonly reader: Reader;
  private readonly sender: Sender;
  private readonly watch: ChangeWatch;
  private readonly clock: ServerClock;
  private readonly ended = new AbortController();
  private readonly loaded: Promise<void>;
  private readonly updates: { apply(): void };
  /** The stored token. A new token of the link is tried first, and stored once the service has accepted it. */
  private keptToken: string | null = null;
  /** The first read, started while storage is being opened. */
  private early: Promise<Reply> | null = null;

  constructor(private readonly options: StoreOptions) {
    super();
    this.timers = options.timers ?? realTimers(options.now);
    this.clock = new ServerClock(this.timers, (isUp) => (this.timeIsUp.value = isUp));
    this.database = new RunDatabase(databaseName(options.runId), () => options.db ?? indexedDB);
    this.send = this.timed(httpTransport(options.fetch ?? ((...call) => fetch(...call)), this.timers));
    this.addresses = new RunAddresses(options.api, options.runId, options.token);
    this.access = new MemberAccess(this.membershipDeps());
    this.membership = this.access.membership;
    if (options.token !== null) this.early = this.send(this.addresses.run());
    this.reader = new Reader(this.readerDeps());
    this.sender = new Sender(this.senderDeps());
    this.watch = new ChangeWatch(this.changeWatchDeps());
    this.tabs = new Tabs(
      databaseName(options.runId),
      options.locks === undefined ? browserLocks() : options.locks,
      this.timers,
      options.channel === undefined ? browserChannel() : options.channel,
      () => void this.reload(),
    );
    this.updates = watchUpdates(this.ended.signal, () => this.notify({ id: "update_ready", kind: "update_ready", stepIds: [] }));
    this.loaded = this.start();
  }

  now(): Date {
    return this.clock.now();
  }

  async answer(stepId: string, value: JsonValue, geo: Geo | null = null, note: string | null = null): Promise<void> {
    await this.enqueue({ kind: "answer", stepId, value, geo, ...(note === null ? {} : { note }) });
  }

  async clear(stepId: string): Promise<void> {
    await this.enqueue({ kind: "clear", stepId });
  }

  async skip(stepId: string): Promise<void> {
    await this.enqueue({ kind: "skip", stepId });
  }

  async addPhoto(stepId: string, file: Blob, instead: readonly string[] = []): Promise<void> {
    await this.loaded;
    const removals = instead.map((key) => this.removal(stepId, key));
    const [replaced] = instead;
    const known = this.answers.peek().get(stepId)?.photos.map((photo) => photo.key) ?? [];
    const opId = await this.enqueue({ kind: "photo", stepId, contentType: file.type }, file, removals, replaced);
    // The page keeps the place of the replaced photo, also if the service cannot.
    if (replaced !== undefined) this.photos.arrange(stepId, known.map((key) => (key === replaced ? opId : key)));
  }

  async removePhoto(stepId: string, key: string): Promise<void> {
    await this.loaded;
    await this.keep(this.removal(stepId, key));
  }

  async identify(name: string, email: string): Promise<void> {
    await this.enqueue({ kind: "identity", name, email });
  }

  async drawSignature(drawing: Blob | null): Promise<void> {
    await this.loaded;
    await this.reportIfFull(() => this.database.setDrawing(drawing));
    const old = this.drawing.peek();
    this.drawing.value = drawing === null ? null : { content: drawing, url: URL.createObjectURL(drawing) };
    if (old !== null) URL.revokeObjectURL(old.url);
  }

  async submit(signature: { name: string } | null): Promise<void> {
    await this.loaded;
    const content = signature === null ? null : (this.drawing.peek()?.content ?? null);
    const [stamp, other] = [this.stamp(), this.stamp()];
    const [drawing, removal] = content !== null ? [other, null] : [null, signature === null ? null : other];
    const command = { kind: "submit", signature: signature?.name ?? null } as const;
    const blob = content === null || drawing === null ? undefined : { id: drawing.opId, content };
    await this.keep((before) => ending(this.withSent(before), command, stamp, drawing, removal), blob);
  }

  async cancel(reason: string | null): Promise<void> {
    await this.enqueue({ kind: "cancel", reason });
  }

  async withdraw(): Promise<boolean> {
    await this.loaded;
    await this.keep((before) => withdrawn(this.withSent(before)));
    return !this.submitQueued.peek() && !this.cancelQueued.peek();
  }

  retry(): void {
    void this.reader.read();
    this.sender.wake(true);
  }

  dismiss(noticeId: string): void {
    this.ownNotices.value = this.ownNotices.peek().filter((notice) => notice.id !== noticeId);
    void this.changeOrShow((before) => dismissed(before, noticeId));
  }

  review(open: boolean): void {
    this.reviewing.value = open;
  }

  applyUpdate(): void {
    this.updates.apply();
  }

  async receipt(locale: string): Promise<ReceiptReply> {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
    return fetchReceipt(this.addresses.receipt(timeZone), locale, this.options.fetch ?? ((...call) => fetch(...call)), this.timers);
  }

  async signIn(asOther: boolean): Promise<void> {
    const token = this.token.peek();
    try {
      if (!this.keeps.peek() || token === null) throw new StorageFull("Nothing is kept.");
      // The return address must not contain the token: it stays in storage.
      await this.database.remember({ token });
    } catch {
      window.open(this.addresses.signIn(null, asOther), "_blank", "noopener");
      return;
    }
    window.location.assign(this.addresses.signIn("run", asOther));
  }

  close(): void {
    this.ended.abort();
    this.watch.close();
    this.reader.close();
    this.sender.stop();
    this.tabs.close();
    this.clock.close();
    this.photos.close();
    this.database.close();
  }

  private async start(): Promise<void> {
    try {
      await this.loadKept();
    } catch {
      this.useMemory();
    }
    if (this.ended.signal.aborted) return;
    listen(this.ended.signal, {
      wouldLose: () => !this.keeps.peek() && this.records.peek().queue.length > 0,
      again: () => {
        this.watch.stop();
        this.sender.wake(true);
        void this.reader.read();
      },
      seen: () => this.takeOver(),
      hidden: () => this.watch.stop(),
      offline: () => this.setReached(false),
    });
    // Without a channel, each tab sends for itself.
    if (!this.keeps.peek()) this.sender.start();
    else {
      this.tabs.whenSender(
        () => this.sender.start(),
        () => this.sender.stop(),
      );
    }
    void this.reader.read();
  }

  private useMemory(): void {
    this.database.close();
    this.database = new RunMemory();
    this.keeping.value = false;
    this.notify({ id: "not_keeping", kind: "not_keeping", stepIds: [] });
  }

  private async loadKept(): Promise<void> {
    const { token } = this.options;
    if (token !== null) this.useToken(token);
    const found = await this.database.load();
    // A read from before storage was open may be older than writes of another tab.
    if (found.records.run !== null) this.early = null;
    this.keptToken = found.token ?? token;
    const isNew = token !== null && found.token === null;
    const seen = this.timers.now().toISOString();
    void this.database.remember(isNew ? { seen, token } : { seen }).catch(() => undefined);
    batch(() => {
      if (token === null && found.token !== null) this.useToken(found.token);
      if (found.drawing !== null) this.drawing.value = { content: found.drawing, url: URL.createObjectURL(found.drawing) };
      this.template.value = found.template;
      this.take(found.records);
    });
  }

  private useToken(token: string): void {
    this.token.value = token;
    this.addresses.token = token;
  }

  private rememberToken(): void {
    const token = this.token.peek();
    if (token === null || token === this.keptToken) return;
    this.keptToken = token;
    void this.database.remember({ token }).catch(() => undefined);
  }

  /** A mistyped link must not replace the stored token. */
  private fallBack(): boolean {
    if (this.keptToken === null || this.keptToken === this.token.peek()) return false;
    this.useToken(this.keptToken);
    this.denied.value = false;
    void this.reader.read();
    this.sender.wake(true);
    return true;
  }

  private takeOver(): void {
    if (!this.keeps.peek() || this.records.peek().queue.length === 0) return;
    this.tabs.takeOverIfSilent(
      () => this.sender.start(),
      () => this.sender.stop(),
    );
  }

  /**
   * Returns the id of the operation. `first` runs in the same transaction, before the command, which takes the place of
   * the photo `replaced`.
   */
  private async enqueue(
    command: Command,
    content?: Blob,
    first: readonly ((before: Records) => Records)[] = [],
    replaced?: string,
  ): Promise<string> {
    await this.loaded;
    const stamp = this.stamp();
    const blob = content === undefined ? undefined : { id: stamp.opId, content };
    const decide = (before: Records) => {
      const [given, links] = [this.withSent(before), this.links.peek()];
      const ready = first.reduce((records, change) => change(records), given);
      const after = enqueued(ready, command, stamp, links);
      return replaced === undefined ? after : inPlaceOf(given, after, replaced, stamp.opId, links);
    };
    await this.keep(decide, blob);
    return stamp.opId;
  }

  /** Removes a photo, whether it was sent or not. */
  private removal(stepId: string, key: string): (before: Records) => Records {
    if (this.records.peek().refused.some((entry) => entry.operation.opId === key)) {
      return (before) => refusedPhotoRemoved(before, key);
    }
    const photo = this.answers.peek().get(stepId)?.photos.find((other) => other.key === key);
    if (photo === undefined) return (before) => before;
    const command = { kind: "photo_removed", stepId, photoKey: key, index: photo.index } as const;
    const stamp = this.stamp();
    return (before) => enqueued(this.withSent(before), command, stamp, this.links.peek());
  }

  /** For changes that the page shows as stored. If storage is full, adds a notice and rejects with StorageFull. */
  private async keep(decide: (before: Records) => Records, blob?: { id: string; content: Blob }): Promise<void> {
    await this.reportIfFull(async () => {
      const after = await this.database.change({ decide, durable: true, ...(blob === undefined ? {} : { blob }) });
      if (blob !== undefined) this.photos.show(blob.id, blob.content);
      this.take(after);
    });
    this.tabs.changed();
    this.sender.wake();
    this.takeOver();
    if (!this.reached.peek() && this.keeps.peek()) void persistStorage();
  }

  private async reportIfFull(write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.ownNotices.value = this.ownNotices.peek().filter((notice) => notice.kind !== "storage_full");
    } catch (error) {
      this.notify({ id: "storage_full", kind: "storage_full", stepIds: [] });
      throw error instanceof StorageFull ? error : new StorageFull(String(error));
    }
  }

  private async change(decide: (before: Records) => Records): Promise<Records> {
    const after = await this.database.change({ decide });
    this.take(after);
    this.tabs.changed();
    return after;
  }

  /** For data that is only displayed: without storage, it is displayed all the same. */
  private async changeOrShow(decide: (before: Records) => Records): Promise<Records> {
    // At the first visit there is nothing to lose, so the view does not wait for the disk.
    if (this.records.peek().run === null) this.take(decide(this.records.peek()));
    try {
      return await this.change(decide);
    } catch {
      this.take(decide(this.records.peek()));
      return this.records.peek();
    }
  }

  private async reload(): Promise<void> {
    const found = await this.database.load().catch(() => null);
    if (found === null) return;
    batch(() => {
      if (this.template.peek() === null) this.template.value = found.template;
      this.take(found.records);
    });
    // The sender may be a tab without the complete link, which another tab has.
    this.keptToken = found.token ?? this.keptToken;
    if (this.token.peek() === null) this.fallBack();
    this.sender.wake();
  }

  private take(after: Records): void {
    const before = this.records.peek();
    if (after.run?.run.executor_identity.mode === "member") this.addresses.withSession = true;
    const sameRun = before.run !== null && before.run.epoch === after.run?.epoch;
    this.records.value = sameRun ? { ...after, run: before.run } : after;
    if (before === NO_RECORDS && after.run !== null) this.clock.offsetMs = after.run.clockOffsetMs;
    this.clock.watch(after.run?.run.expires_at ?? null);
    void this.photos.load(after, (opId) => this.database.blob(opId), this.ended.signal);
  }

  private withSent(before: Records): Records {
    const { sent } = this.sender;
    const queue = before.queue.map((operation) =>
      operation.attempts === 0 && sent.has(operation.opId) ? { ...operation, attempts: 1 } : operation,
    );
    return { ...before, queue };
  }

  private stamp(): Stamp {
    const identity = this.run.peek()?.executor_identity;
    const member = identity?.mode === "member" ? identity.user_id : null;
    return { opId: newOpId(), at: localTimestamp(this.clock.now()), ...(member === null ? {} : { member }) };
  }

  private arrived(operation: Operation, change: Change): void {
    // The run contains the identity now.
    if (operation.kind === "submit") void this.database.setDrawing(null).catch(() => undefined);
    const steps = this.template.peek()?.sections.flatMap((section) => section.steps) ?? [];
    const stepId = stepOf(operation);
    if (stepId === null) return;
    const drawn = takesDrawing(steps.find((step) => step.id === stepId));
    if (drawn && operation.kind === "photo") this.photos.arrived(operation.opId, stepId, THE_DRAWING);
    else if (drawn && operation.kind !== "answer") this.photos.gone(stepId, THE_DRAWING);
    else if (operation.kind === "photo" && change.photo) {
      this.photos.arrived(operation.opId, stepId, change.photo.photo_index);
    }
  }

  private membershipDeps(): MembershipDeps {
    return {
      addresses: this.addresses,
      send: this.send,
      records: () => this.records.peek(),
      tokenAccepted: () => this.rememberToken(),
      opened: () => this.sender.wake(true),
    };
  }

  private readerDeps(): ReaderDeps {
    const { timers, addresses, send } = this;
    return {
      runId: this.options.runId,
      addresses,
      send: (request) => {
        const { early } = this;
        this.early = null;
        return early ?? send(request);
      },
      access: this.access,
      timers,
      hasToken: () => this.token.peek() !== null,
      records: () => this.records.peek(),
      change: (decide) => this.changeOrShow(decide),
      remember: async (template) => {
        this.rememberToken();
        if (this.template.peek() !== null) return;
        this.template.value = template;
        await this.database.remember({ template }).catch(() => undefined);
      },
      isOffline: () => typeof navigator === "object" && navigator.onLine === false,
      isWatched: () => this.watch.works,
      done: () => {
        this.watch.wake();
        this.takeOver();
      },
      clockOffsetMs: () => this.clock.offsetMs,
      show: (preview) => (this.shownPreview.value = preview),
      failed: (failure) => (this.failure.value = failure),
      reached: (reached) => this.setReached(reached),
      denied: () => (this.denied.value = true),
      fallBack: () => this.fallBack(),
    };
  }

  private changeWatchDeps(): ChangeWatchDeps {
    const { addresses, send, timers } = this;
    return {
      runId: this.options.runId,
      addresses,
      send,
      timers,
      known: () => {
        const run = this.records.peek().run?.run;
        const isHidden = typeof document === "object" && document.visibilityState === "hidden";
        const isWanted = run !== undefined && isOpen(run) && this.access.isOpen && this.reached.peek() && !isHidden;
        return isWanted ? (run.changes ?? null) : null;
      },
      isSending: () => this.records.peek().queue.length > 0,
      read: () => this.reader.read(),
    };
  }

  private setReached(reached: boolean): void {
    this.reached.value = reached;
    // The request that waits may hang on a connection that is gone.
    if (!reached) this.watch.stop();
  }

  private timed(send: Send): Send {
    return async (request, progress) => {
      const sentAt = this.timers.now();
      const reply = await send(request, progress);
      this.clock.onReply(reply, sentAt);
      return reply;
    };
  }

  private senderDeps(): SenderDeps {
    const { timers, addresses, send } = this;
    return {
      runId: this.options.runId,
      addresses,
      send,
      timers,
      records: () => this.records.peek(),
      links: () => this.links.peek(),
      change: (decide) => this.change(decide),
      blob: (id) => this.database.blob(id),
      refresh: () => this.reader.read(),
      isStale: () => this.reader.isStale(),
      markStale: () => this.reader.markStale(),
      uploading: (opId, share) => this.photos.uploading(opId, share),
      arrived: (operation, change) => this.arrived(operation, change),
      fallBack: () => this.fallBack(),
      mayAnswer: () => this.access.isOpen,
      gone: async () => {
        // In a run for members, only this person's membership may have ended.
        if (this.addresses.withSession) await this.reader.read();
        else this.failure.value = "not_found";
        return this.failure.peek() === "not_found";
      },
      traffic: ({ reached, denied, failures }) => {
        batch(() => {
          if (reached !== undefined) this.setReached(reached);
          if (denied !== undefined) this.denied.value = denied;
          this.failures.value = failures;
        });
      },
    };
  }
}
