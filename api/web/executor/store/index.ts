/** The store of the executor app; the views import nothing else from this folder. */
export { browserLocks } from "./browser_apis";
export { lastRun, rememberRun } from "./last_run";
export { createStore, type StoreOptions } from "./store";
export { tidyUp } from "./tidy";
export { runIdIn, tokenIn } from "./token";
export * from "./types";
