/** Estimates the server's clock and reports when the run expires. */
import { LONGEST_TIMER_MS, type Timers } from "./timers";
import type { Reply } from "./verdict";

/** The Date header has a resolution of one second. */
const DATE_MS = 1_000;

export class ServerClock {
  /** Server clock minus device clock, in milliseconds. */
  offsetMs = 0;
  /** Bounds of the offset from all replies: the header was written between request and reply. */
  private least = Number.NEGATIVE_INFINITY;
  private most = Number.POSITIVE_INFINITY;
  private timer: unknown = null;
  private end: string | null = null;

  constructor(
    private readonly timers: Timers,
    private readonly onTimeIsUp: (isUp: boolean) => void,
  ) {}

  now(): Date {
    return new Date(this.timers.now().getTime() + this.offsetMs);
  }

  /** `sentAt` is the time of the request by the device's clock. */
  onReply(reply: Reply, sentAt: Date): void {
    if (reply.kind !== "http" || reply.date === null) return;
    const date = reply.date.getTime();
    const [least, most] = [date - this.timers.now().getTime(), date + DATE_MS - sentAt.getTime()];
    this.least = Math.max(this.least, least);
    this.most = Math.min(this.most, most);
    // A clock was set in the meantime: only this reply counts.
    if (this.least > this.most) [this.least, this.most] = [Math.min(least, most), Math.max(least, most)];
    if (this.offsetMs >= this.least && this.offsetMs <= this.most) return;
    this.offsetMs = (this.least + this.most) / 2;
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
