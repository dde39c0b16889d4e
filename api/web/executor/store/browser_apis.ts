/** Browser features that may be missing: Web Locks, BroadcastChannel, persistent storage. */
import type { Channel } from "./tabs";
import { StorageFull } from "./types";

export interface RetryEvents {
  /** Read and send again at once. */
  readonly again: () => void;
  /** The tab became visible. */
  readonly seen: () => void;
  readonly hidden: () => void;
  readonly offline: () => void;
  /** Whether closing the page now would lose data. */
  readonly wouldLose: () => boolean;
}

/** Listens for reasons to retry: network, focus, sign-in. */
export function listen(ended: AbortSignal, { again, seen, hidden, offline, wouldLose }: RetryEvents): void {
  if (typeof window !== "object") return;
  const looked = () => {
    if (document.visibilityState !== "visible") return hidden();
    seen();
    again();
  };
  // A notice is shown already; an unhandled StorageFull is no error.
  const ignoreFull = (event: PromiseRejectionEvent) => event.reason instanceof StorageFull && event.preventDefault();
  window.addEventListener("unhandledrejection", ignoreFull, { signal: ended });
  window.addEventListener("online", again, { signal: ended });
  window.addEventListener("offline", offline, { signal: ended });
  window.addEventListener("beforeunload", (event) => wouldLose() && event.preventDefault(), { signal: ended });
  window.addEventListener("pageshow", (event) => event.persisted && again(), { signal: ended });
  document.addEventListener("visibilitychange", looked, { signal: ended });
  // The dashboard's pages announce a sign-in on this channel.
  const signIns = browserChannel()?.("checklists-session") ?? null;
  if (signIns !== null) {
    signIns.onmessage = again;
    ended.addEventListener("abort", () => signIns.close());
  }
}

export function browserLocks(): LockManager | null {
  return typeof navigator === "object" && "locks" in navigator ? navigator.locks : null;
}

export function browserChannel(): ((name: string) => Channel | null) | null {
  if (typeof BroadcastChannel !== "function") return null;
  return (name) => {
    try {
      return new BroadcastChannel(name);
    } catch {
      // Not available if site data are blocked.
      return null;
    }
  };
}

let asked = false;

/**
 * Asks the browser to make storage persistent. Called once, and only when something has to wait: some browsers show a
 * prompt.
 */
export async function persistStorage(): Promise<void> {
  if (asked || typeof navigator !== "object") return;
  asked = true;
  await navigator.storage?.persist?.().catch(() => false);
}
