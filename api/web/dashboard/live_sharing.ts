/**
 * Shares one stream between all tabs of a browser that show the same organization: under HTTP/1.1 a browser opens at
 * most six connections per host. The tab that holds the lock has the stream and broadcasts its events; when it is
 * closed, the next tab gets the lock and resumes after the last event. Without Web Locks each tab has its own stream.
 */
import { LiveConnection, type Listener, type LiveUpdate } from "./live_connection";

type Message =
  | { readonly type: "update"; readonly update: LiveUpdate }
  | { readonly type: "connected"; readonly connected: boolean; readonly id: string }
  | { readonly type: "asked" };

export class SharedStream {
  private readonly channel: BroadcastChannel | null;
  private readonly stopped = new AbortController();
  private connection: LiveConnection | null = null;
  private connected = false;
  private lastId = "";

  constructor(
    private readonly organization: string,
    member: string,
    private readonly listener: Listener,
  ) {
    const name = `checklists.stream.${organization}.${member}`;
    const shared = "locks" in navigator && "BroadcastChannel" in window;
    this.channel = shared ? new BroadcastChannel(name) : null;
    if (this.channel === null) {
      this.lead();
      return;
    }
    this.channel.onmessage = (event: MessageEvent<Message>) => this.onMessage(event.data);
    this.post({ type: "asked" });
    const held = () => {
      this.lead();
      return new Promise<void>((resolve) => this.stopped.signal.addEventListener("abort", () => resolve()));
    };
    // Rejected if stopped before the lock is granted.
    navigator.locks.request(name, { signal: this.stopped.signal }, held).catch(() => undefined);
  }

  stop(): void {
    this.connection?.close();
    this.stopped.abort();
    this.channel?.close();
  }

  private lead(): void {
    if (this.stopped.signal.aborted) return;
    this.connection = new LiveConnection(this.organization, this.lastId, {
      onUpdate: (update) => {
        this.post({ type: "update", update });
        this.apply(update);
      },
      connected: (yes) => {
        this.post({ type: "connected", connected: yes, id: this.lastId });
        this.isConnected(yes);
      },
    });
  }

  private onMessage(message: Message): void {
    if (message.type === "update") {
      this.apply(message.update);
    } else if (message.type === "connected") {
      this.lastId ||= message.id;
      this.isConnected(message.connected);
    } else if (this.connection !== null) {
      this.post({ type: "connected", connected: this.connected, id: this.lastId });
    }
  }

  private apply(update: LiveUpdate): void {
    this.lastId = update.id;
    this.listener.onUpdate(update);
  }

  private isConnected(yes: boolean): void {
    this.connected = yes;
    this.listener.connected(yes);
  }

  private post(message: Message): void {
    if (!this.stopped.signal.aborted) this.channel?.postMessage(message);
  }
}
