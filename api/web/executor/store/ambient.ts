/** What browsers have to offer, or not: locks and channels between tabs, storage that lasts. */
import type { Channel } from "./tabs";

export function ambientLocks(): LockManager | null {
  return typeof navigator === "object" && "locks" in navigator ? navigator.locks : null;
}

export function ambientChannel(): ((name: string) => Channel) | null {
  return typeof BroadcastChannel === "function" ? (name) => new BroadcastChannel(name) : null;
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
