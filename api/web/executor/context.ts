import { createContext } from "preact";
import { useContext } from "preact/hooks";

import { type RunStore, StorageFull } from "./store/types";
import type { Page } from "./page";

export interface App {
  store: RunStore;
  page: Page;
}

export const AppContext = createContext<App | null>(null);

/** Context of all views: the run's store and the page's state. */
export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error("a view was drawn outside of the app");
  return app;
}

/**
 * Waits until a change is stored; false if the device has no room for it. The store shows a notice, and the view must
 * not continue.
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
