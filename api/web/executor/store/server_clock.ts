/** Estimates the server's clock and reports when the run expires. */
import { LONGEST_TIMER_MS, type Timers } from "./timers";
import type { Reply } from "./verdict";

/** The Date header has a resolution of one second: smaller differences are ignored. */
const TOLERANCE_MS = 1_500;

export class ServerClock {
  /** Server clock minus device clock, in milliseconds. */
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

  onReply(reply: Reply): void {
    if (reply.kind !== "http" || reply.date === null) return;
    // The Date header is truncated: on average half a second has passed.
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
