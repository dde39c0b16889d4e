/** From the address of the page to the run: `{prefix}/r/{run_id}#{token}`. */
import { createStore, lastRun, rememberRun, runIdIn, type RunStore, tokenIn } from "./store";

export function openLink(): RunStore {
  const runId = runIdIn(location.pathname);
  if (runId !== null) rememberRun(runId);
  const last = runId === null ? lastRun() : null;
  // Beside the page that the installed app starts with.
  if (last !== null) location.replace(new URL(last, location.href));
  return createStore({
    runId: runId ?? "",
    token: tokenIn(location.hash),
    // Relative to the page, so that the service works behind a proxy that puts a path in front.
    api: new URL("../v1/", location.href),
  });
}
