/** A manually advanced clock: an hour of backoff takes no time in a test. */
import type { Timers } from "../timers";

declare const setImmediate: (call: () => void) => void;

/** A turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Lets IndexedDB (setImmediate in fake-indexeddb) and promises finish without advancing time. */
export async function settle(): Promise<void> {
  for (let count = 0; count < 40; count += 1) await turn();
}

export class VirtualTime {
  private readonly timers = new Map<number, { readonly at: number; readonly call: () => void }>();
  private last = 0;

  constructor(
    public ms = Date.parse("2026-11-21T10:00:00Z"),
    private readonly random: () => number = () => 0.5,
  ) {}

  /** Timers of one device, whose clock is `skewMs` ahead. */
  device(skewMs = 0): Timers {
    return {
      now: () => new Date(this.ms + skewMs),
      set: (call, ms) => {
        this.last += 1;
        this.timers.set(this.last, { at: this.ms + ms, call });
        return this.last;
      },
      clear: (timer) => this.timers.delete(timer as number),
      chance: this.random,
    };
  }

  async pass(ms: number): Promise<void> {
    const end = this.ms + ms;
    await settle();
    for (let next = this.due(end); next !== null; next = this.due(end)) {
      const timer = this.timers.get(next);
      this.timers.delete(next);
      this.ms = Math.max(this.ms, timer?.at ?? 0);
      timer?.call();
      await settle();
    }
    this.ms = end;
  }

  private due(end: number): number | null {
    const due = [...this.timers].filter(([, timer]) => timer.at <= end).sort(([, one], [, other]) => one.at - other.at);
    return due[0]?.[0] ?? null;
  }
}
