/** From the address of the page to the run: `{prefix}/r/{run_id}#{token}`. */
import { createStore, runIdIn, type RunStore, tokenIn } from "./store";

export function openLink(): RunStore {
  return createStore({
    runId: runIdIn(location.pathname) ?? "",
    token: tokenIn(location.hash),
    // Relative to the page, so that the service works behind a proxy that puts a path in front.
    api: new URL("../v1/", location.href),
  });
}
