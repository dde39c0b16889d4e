/** The layout of checklists on this device: the person's choice in the menu, else the template's. */
import type { Settings } from "../core";

export type Layout = NonNullable<Settings["layout"]>;

const LAYOUTS: readonly Layout[] = ["list", "one_at_a_time"];
const PREFERENCE = "checklist.layout";

/** The person's choice; null if there is none, or the browser stores nothing. */
export function ownLayout(storage?: Pick<Storage, "getItem">): Layout | null {
  try {
    // If site data are blocked, reading `localStorage` throws.
    const own = (storage ?? localStorage).getItem(PREFERENCE);
    return LAYOUTS.find((layout) => layout === own) ?? null;
  } catch {
    return null;
  }
}

export function keepOwnLayout(layout: Layout, storage?: Pick<Storage, "setItem">): void {
  try {
    (storage ?? localStorage).setItem(PREFERENCE, layout);
  } catch {
    // The layout still changes until the page is closed.
  }
}

/** The step on the screen, kept for a reload like rejected input (`kept_input.ts`). */
export interface KeptPlace {
  read(): string | null;
  write(stepId: string): void;
}

export const NO_PLACE: KeptPlace = { read: () => null, write: () => undefined };

/** `address`: the path of the run's page. */
export function keptPlace(address: string): KeptPlace {
  const key = `draft ${address} place`;
  return {
    read() {
      try {
        return localStorage.getItem(key);
      } catch {
        return null;
      }
    },
    write(stepId) {
      try {
        localStorage.setItem(key, stepId);
      } catch {
        // After a reload, the first open step is shown.
      }
    },
  };
}
