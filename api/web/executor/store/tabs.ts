/**
 * Coordinates the tabs of one run: they share the storage, notify each other of changes, and only one of them sends.
 * Two senders would do no harm (the server deduplicates by operation id), but double the data volume.
 */
import type { Timers } from "./timers";

type Message = "changed" | "ping" | "pong";

export interface Channel {
  postMessage(message: Message): void;
  onmessage: ((event: MessageEvent) => unknown) | null;
  close(): void;
}

const PONG_WITHIN_MS = 3_000;

export class Tabs {
  private readonly channel: Channel | null;
  private readonly ended = new AbortController();
  private heard = false;
  private holding = false;
  private asking = false;

  constructor(
    private readonly name: string,
    private readonly locks: LockManager | null,
    private readonly timers: Timers,
    openChannel: ((name: string) => Channel | null) | null,
    onChanged: () => void,
  ) {
    this.channel = openChannel?.(name) ?? null;
    if (this.channel !== null) {
      this.channel.onmessage = ({ data }: MessageEvent) => {
        if (data === "changed") onChanged();
        if (data === "ping" && this.holding) this.channel?.postMessage("pong");
        if (data === "pong") this.heard = true;
      };
    }
  }

  changed(): void {
    this.channel?.postMessage("changed");
  }

  /** Calls `begin` once this tab is the sender, and `end` when it no longer is. */
  whenSender(begin: () => void, end: () => void): void {
    if (this.locks === null) begin();
    else void this.hold(this.locks, { signal: this.ended.signal }, begin, end);
  }

  /** Phones freeze background tabs that hold the lock. If the sender does not respond, this visible tab takes over. */
  takeOverIfSilent(begin: () => void, end: () => void): void {
    const { locks } = this;
    if (locks === null || this.holding || this.asking || this.channel === null) return;
    this.heard = false;
    this.asking = true;
    this.channel.postMessage("ping");
    this.timers.set(() => {
      this.asking = false;
      if (this.heard || this.holding || this.ended.signal.aborted) return;
      void this.hold(locks, { steal: true }, begin, end);
    }, PONG_WITHIN_MS);
  }

  close(): void {
    this.ended.abort();
    this.channel?.close();
  }

  private async hold(locks: LockManager, options: LockOptions, begin: () => void, end: () => void): Promise<void> {
    try {
      await locks.request(this.name, options, () => {
        if (this.ended.signal.aborted) return undefined;
        this.holding = true;
        begin();
        return new Promise<void>((resolve) => this.ended.signal.addEventListener("abort", () => resolve()));
      });
    } catch (error) {
      // Stolen by another tab, or closed while waiting. Otherwise the browser denies locks, as it does if site data are
      // blocked; trying again would not help.
      if (!(error instanceof DOMException && error.name === "AbortError")) return this.ended.signal.aborted ? undefined : begin();
    }
    this.holding = false;
    end();
    if (!this.ended.signal.aborted) this.whenSender(begin, end);
  }
}
