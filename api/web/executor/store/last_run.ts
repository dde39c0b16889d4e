/** The installed app starts without an address of a run: it goes on with the one that was opened last on this device. */
const KEY = "checklist.last_run";

export function rememberRun(runId: string, storage: Pick<Storage, "setItem"> = localStorage): void {
  try {
    storage.setItem(KEY, runId);
  } catch {
    // No room, or none allowed: the link in the message still works.
  }
}

export function lastRun(storage: Pick<Storage, "getItem"> = localStorage): string | null {
  try {
    return storage.getItem(KEY);
  } catch {
    return null;
  }
}
