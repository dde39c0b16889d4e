/** What browsers have to offer, or not: locks and channels between tabs, storage that lasts. */
import type { Channel } from "./tabs";
import { StorageFull } from "./types";

export interface Reasons {
  /** To look and to send again at once. */
  readonly again: () => void;
  /** Somebody looks at this tab. */
  readonly seen: () => void;
  readonly offline: () => void;
  /** Whether to close the page now would lose something. */
  readonly wouldLose: () => boolean;
}

/** The network or the person gives a reason to look again. */
export function listen(ended: AbortSignal, { again, seen, offline, wouldLose }: Reasons): void {
  if (typeof window !== "object") return;
  const looked = () => {
    if (document.visibilityState !== "visible") return;
    seen();
    again();
  };
  // The notice has told it; whoever only asked for something to be kept need not say it again.
  const told = (event: PromiseRejectionEvent) => event.reason instanceof StorageFull && event.preventDefault();
  window.addEventListener("unhandledrejection", told, { signal: ended });
  window.addEventListener("online", again, { signal: ended });
  window.addEventListener("offline", offline, { signal: ended });
  window.addEventListener("beforeunload", (event) => wouldLose() && event.preventDefault(), { signal: ended });
  window.addEventListener("pageshow", (event) => event.persisted && again(), { signal: ended });
  document.addEventListener("visibilitychange", looked, { signal: ended });
  // The dashboard's pages say there that somebody has signed in.
  const signIns = ambientChannel()?.("checklists-session") ?? null;
  if (signIns !== null) {
    signIns.onmessage = again;
    ended.addEventListener("abort", () => signIns.close());
  }
}

export function ambientLocks(): LockManager | null {
  return typeof navigator === "object" && "locks" in navigator ? navigator.locks : null;
}

export function ambientChannel(): ((name: string) => Channel | null) | null {
  if (typeof BroadcastChannel !== "function") return null;
  return (name) => {
    try {
      return new BroadcastChannel(name);
    } catch {
      // Not where site data are blocked.
      return null;
    }
  };
}

let asked = false;

/**
 * Asks the browser not to throw away what was answered when the device runs out of room. Once, and only when something
 * has to wait: some browsers put the question to the person.
 */
export async function persistStorage(): Promise<void> {
  if (asked || typeof navigator !== "object") return;
  asked = true;
  await navigator.storage?.persist?.().catch(() => false);
}
