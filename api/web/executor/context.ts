import { createContext } from "preact";
import { useContext } from "preact/hooks";

import { type RunStore, StorageFull } from "./store/types";
import type { Page } from "./page";

export interface App {
  store: RunStore;
  page: Page;
}

export const AppContext = createContext<App | null>(null);

/** What every view works on: the run, and the state of the page itself. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error("a view was drawn outside of the app");
  return app;
}

/**
 * Waits for a change to be kept; false when the device has no room for it. The store tells that to the person, so there
 * is nothing more to say, but the view must not go on as if it had been kept.
 */
export async function isKept(change: Promise<unknown>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (error instanceof StorageFull) return false;
    throw error;
  }
}
