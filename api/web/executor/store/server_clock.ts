/** The server's time, as well as it can be known from here, and when the run's time is up by it. */
import { LONGEST_TIMER_MS, type Timers } from "./timers";
import type { Reply } from "./verdict";

/** The header counts whole seconds, and replies take a while: smaller differences say nothing. */
const TOLERANCE_MS = 1_500;

export class ServerClock {
  /** Milliseconds that the server's clock is ahead of this device's. */
  offsetMs = 0;
  private timer: unknown = null;
  private end: string | null = null;

  constructor(
    private readonly timers: Timers,
    private readonly onTimeIsUp: (isUp: boolean) => void,
  ) {}

  now(): Date {
    return new Date(this.timers.now().getTime() + this.offsetMs);
  }

  heard(reply: Reply): void {
    if (reply.kind !== "http" || reply.date === null) return;
    // On average half of the second has passed.
    const offset = reply.date.getTime() + 500 - this.timers.now().getTime();
    if (Math.abs(offset - this.offsetMs) < TOLERANCE_MS) return;
    this.offsetMs = offset;
    this.watch(this.end);
  }

  /** `end` is the run's `expires_at`. */
  watch(end: string | null): void {
    this.end = end;
    this.timers.clear(this.timer);
    const left = end === null ? Number.POSITIVE_INFINITY : Date.parse(end) - this.now().getTime();
    this.onTimeIsUp(left <= 0);
    if (left > 0 && left < LONGEST_TIMER_MS) this.timer = this.timers.set(() => this.watch(end), left);
  }

  close(): void {
    this.timers.clear(this.timer);
  }
}
