/** The last opened run on this device: the installed app starts without a run's address and opens this one. */
const KEY = "checklist.last_run";

// If site data are blocked, reading `localStorage` throws, so it is read inside the try.
export function rememberRun(runId: string): void {
  try {
    localStorage.setItem(KEY, runId);
  } catch {
    // Storage is full or blocked: the link in the message still works.
  }
}

/** Removes a run from local storage: the last-run marker and stored drafts (`kit/controls/draft.ts`). */
export function forgetRun(runId: string): void {
  try {
    if (lastRun() === runId) localStorage.removeItem(KEY);
    const drafts = Object.keys(localStorage).filter((key) => key.startsWith("draft ") && key.includes(`/${runId} `));
    for (const key of drafts) localStorage.removeItem(key);
  } catch {
    // Storage is blocked, so there is nothing to remove.
  }
}

export function lastRun(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
