/** Opens the run of the page's address: `{prefix}/r/{run_id}#{token}`. */
import { browserLocks, createStore, lastRun, rememberRun, runIdIn, type RunStore, tidyUp, tokenIn } from "./store";

/** Cleanup must not delay the start. */
const TIDY_AFTER_MS = 4_000;

export function openLink(): RunStore {
  const runId = runIdIn(location.pathname);
  if (runId !== null) rememberRun(runId);
  const last = runId === null ? lastRun() : null;
  // Relative to the start page of the installed app.
  if (last !== null) location.replace(new URL(last, location.href));
  window.setTimeout(tidy, TIDY_AFTER_MS, runId ?? "");
  const token = tokenIn(location.hash);
  // E.g. the complete link, pasted where an incomplete one was opened: browsers load nothing for another fragment.
  window.addEventListener("hashchange", () => {
    const other = tokenIn(location.hash);
    if (other !== null && other !== token) location.reload();
  });
  return createStore({
    runId: runId ?? "",
    token,
    // Relative to the page, so that the service works behind a proxy with a path prefix.
    api: new URL("../v1/", location.href),
  });
}

function tidy(runId: string): void {
  try {
    void tidyUp(runId, { factory: indexedDB, locks: browserLocks(), now: new Date() });
  } catch {
    // If site data are blocked, reading `indexedDB` can throw; nothing is stored then.
  }
}
