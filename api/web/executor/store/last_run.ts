/** The installed app starts without an address of a run: it goes on with the one that was opened last on this device. */
const KEY = "checklist.last_run";

// Where site data are blocked, `localStorage` itself throws: it is looked at within the try.
export function rememberRun(runId: string): void {
  try {
    localStorage.setItem(KEY, runId);
  } catch {
    // No room, or none allowed: the link in the message still works.
  }
}

/** What is in local storage of a run: that it was the last one, and texts that were put aside (`kit/controls/draft.ts`). */
export function forgetRun(runId: string): void {
  try {
    if (lastRun() === runId) localStorage.removeItem(KEY);
    const drafts = Object.keys(localStorage).filter((key) => key.startsWith("draft ") && key.includes(`/${runId} `));
    for (const key of drafts) localStorage.removeItem(key);
  } catch {
    // None allowed, so there is nothing.
  }
}

export function lastRun(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
