/**
 * One stream of an organization's changes, reopened from its last event. EventSource's own reconnection has a fixed
 * interval, stops at the first error status, and does not detect a connection that stays silent.
 */
import { ApiError } from "./client";
import type { LiveChange } from "./live";
import { BASE } from "./router";
import { refreshSession } from "./session";

const FIRST_WAIT_MS = 500;
/** With jitter, a page that was away catches up within 12 seconds of the service's return. */
const LONGEST_WAIT_MS = 8_000;
/** The service sends something at least every 15 seconds. */
const SILENT_FOR_MS = 25_000;

export interface LiveUpdate {
  /** The id of the last event, to resume from. */
  readonly id: string;
  /** null: more may have changed than the service can list; reload. */
  readonly changes: readonly LiveChange[] | null;
}

export interface Listener {
  onUpdate(update: LiveUpdate): void;
  /** Whether the stream is connected. */
  connected(yes: boolean): void;
}

export class LiveConnection {
  private source: EventSource | null = null;
  private attempts = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly closed = new AbortController();

  constructor(
    private readonly organization: string,
    /** "" starts at the present. */
    private lastId: string,
    private readonly listener: Listener,
  ) {
    addEventListener("online", () => this.atOnce(), { signal: this.closed.signal });
    this.open();
  }

  close(): void {
    this.closed.abort();
    clearTimeout(this.timer);
    this.source?.close();
  }

  private open(): void {
    if (this.closed.signal.aborted) return;
    const address = new URL(`api/${this.organization}/events`, BASE);
    if (this.lastId !== "") address.searchParams.set("last_event_id", this.lastId);
    const source = new EventSource(address);
    let wasOpen = false;
    this.source = source;
    this.watch(source, wasOpen);
    const touch = () => {
      wasOpen = true;
      this.attempts = 0;
      this.watch(source, wasOpen);
    };
    source.addEventListener("open", () => {
      touch();
      this.listener.connected(true);
    });
    source.addEventListener("beat", touch);
    source.addEventListener("changes", (event) => {
      touch();
      this.take(event.lastEventId, JSON.parse(event.data as string) as LiveChange[]);
    });
    source.addEventListener("reset", (event) => {
      touch();
      this.take(event.lastEventId, null);
    });
    source.addEventListener("end", (event) => {
      // The session may have ended or the role may have changed: reload the session.
      void this.again(source, event.data === "session" || event.data === "access");
    });
    source.addEventListener("error", () => void this.again(source, !wasOpen));
  }

  private take(id: string, changes: readonly LiveChange[] | null): void {
    this.lastId = id;
    this.listener.onUpdate({ id, changes });
  }

  private watch(source: EventSource, wasOpen: boolean): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.again(source, !wasOpen), SILENT_FOR_MS);
  }

  /** `ask`: the stream was rejected. EventSource does not expose the reason, so the session's route is called. */
  private async again(source: EventSource, ask: boolean): Promise<void> {
    if (source !== this.source) return;
    source.close();
    this.source = null;
    clearTimeout(this.timer);
    this.listener.connected(false);
    let wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.attempts++);
    if (ask) {
      try {
        await refreshSession(this.closed.signal);
      } catch (error) {
        if (error instanceof ApiError && error.code === "sign_in_required") return this.close();
        if (error instanceof ApiError && error.retryAfter !== null) wait = Math.max(wait, error.retryAfter * 1000);
      }
    }
    if (this.closed.signal.aborted) return;
    // Jitter: clients that were disconnected together do not reconnect at the same moment.
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random()));
  }

  private atOnce(): void {
    if (this.source !== null) return;
    clearTimeout(this.timer);
    this.open();
  }
}
