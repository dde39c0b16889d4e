/** From the address of the page to the run: `{prefix}/r/{run_id}#{token}`. */
import { ambientLocks, createStore, lastRun, rememberRun, runIdIn, type RunStore, tidyUp, tokenIn } from "./store";

/** The first seconds are the person's. */
const TIDY_AFTER_MS = 4_000;

export function openLink(): RunStore {
  const runId = runIdIn(location.pathname);
  if (runId !== null) rememberRun(runId);
  const last = runId === null ? lastRun() : null;
  // Beside the page that the installed app starts with.
  if (last !== null) location.replace(new URL(last, location.href));
  window.setTimeout(tidy, TIDY_AFTER_MS, runId ?? "");
  return createStore({
    runId: runId ?? "",
    token: tokenIn(location.hash),
    // Relative to the page, so that the service works behind a proxy that puts a path in front.
    api: new URL("../v1/", location.href),
  });
}

function tidy(runId: string): void {
  try {
    void tidyUp(runId, { factory: indexedDB, locks: ambientLocks(), now: new Date() });
  } catch {
    // Where site data are blocked, to look at `indexedDB` can throw; nothing is kept there either.
  }
}
