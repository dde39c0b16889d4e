import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { RunStore } from "./store/types";
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
