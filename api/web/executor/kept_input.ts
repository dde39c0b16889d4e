/**
 * Rejected input of a checklist, kept for a reload. It is no answer, so it is not in the run's database; like other
 * drafts (`kit/controls/draft.ts`) it is in local storage, and is removed with the run (`store/last_run.ts`).
 */
import type { Held } from "./page";

type Inputs = ReadonlyMap<string, Held>;

export interface KeptInput {
  read(): Inputs;
  write(held: Inputs): void;
}

export const NOT_KEPT: KeptInput = { read: () => new Map(), write: () => undefined };

/** `address`: the path of the run's page. */
export function keptInput(address: string): KeptInput {
  const key = `draft ${address} rejected`;
  return {
    read() {
      try {
        return new Map(JSON.parse(localStorage.getItem(key) ?? "[]") as [string, Held][]);
      } catch {
        // Storage is blocked, or its content is of another version.
        return new Map();
      }
    },
    write(held) {
      // Text that is not a value is in its field only.
      const entries = [...held].filter(([, { problem }]) => problem.code !== "text");
      try {
        if (entries.length === 0) localStorage.removeItem(key);
        else localStorage.setItem(key, JSON.stringify(entries));
      } catch {
        // Storage is full or blocked: the input is lost on reload.
      }
    },
  };
}
