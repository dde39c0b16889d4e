/**
 * Deletes old checklists from the device. Phones are shared, and a link's token grants access to all answers; the
 * service stores them, so there is no reason to keep them.
 *
 * A closed checklist is deleted a week after it was last opened here; an open one, or one with late answers, after
 * three months. Unsent operations are kept: there is no other copy.
 */
import { databaseName, type Kept, RunDatabase } from "./database";
import { forgetRun } from "./last_run";
import { isOpen } from "./server_state";

const DAY_MS = 24 * 3_600_000;
const CLOSED_MS = 7 * DAY_MS;
const OPEN_MS = 90 * DAY_MS;

export interface Device {
  readonly factory: IDBFactory;
  /** null: it is not known whether another tab has a run open. */
  readonly locks: Pick<LockManager, "request"> | null;
  readonly now: Date;
}

/** Deletes old runs except the one open in this tab. Never rejects. */
export async function tidyUp(openRunId: string, { factory, locks, now }: Device): Promise<void> {
  try {
    // Browsers that cannot list their databases keep them; Firefox can since 126.
    const found = (await factory.databases?.()) ?? [];
    for (const { name = "" } of found) {
      const runId = RUN_DATABASE.exec(name)?.[1];
      if (runId === undefined || runId === openRunId) continue;
      const tidy = () => removeIfSpent(runId, factory, now);
      // The sending tab holds the lock of its run.
      if (locks === null) await tidy();
      else await locks.request(name, { ifAvailable: true }, (lock) => (lock === null ? undefined : tidy()));
    }
  } catch {
    // It is tried again at the next start.
  }
}

const RUN_DATABASE = new RegExp(`^${databaseName("(r-[0-9a-f-]{36})")}$`);

export function isSpent({ records, seen }: Kept, now: Date): boolean {
  if (seen === null || records.queue.length > 0) return false;
  const run = records.run?.run;
  const expired = run?.expires_at != null && Date.parse(run.expires_at) <= now.getTime();
  const over = records.lost.length === 0 && (run === undefined || !isOpen(run) || expired);
  return now.getTime() - Date.parse(seen) > (over ? CLOSED_MS : OPEN_MS);
}

async function removeIfSpent(runId: string, factory: IDBFactory, now: Date): Promise<void> {
  const database = new RunDatabase(databaseName(runId), () => factory);
  const kept = await database.load();
  database.close();
  if (!isSpent(kept, now)) return;
  await new Promise<void>((resolve) => {
    const request = factory.deleteDatabase(databaseName(runId));
    request.onsuccess = request.onerror = request.onblocked = () => resolve();
  });
  forgetRun(runId);
}
