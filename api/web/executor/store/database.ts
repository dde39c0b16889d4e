/**
 * IndexedDB for one run. Every change is one transaction around a pure function and is finished only when the browser
 * reports completion, with `strict` durability if the page shows the change as stored: it then survives a crash of the
 * tab or the phone.
 */
import { promisifyRequest } from "idb-keyval";
import type { Template } from "../../core/types";
import { hasBlob, NO_RECORDS, type Records } from "./records";
import { StorageFull } from "./types";

const STORE = "run";
/** The blob of the drawn signature before the submit, which belongs to no operation. */
export const DRAWING = "drawing";

/** Records are stored under ["r", type, id]; the type is the list in `Records`. */
type Row = { readonly type: "op" | "refused" | "lost" | "notice" | "run"; readonly value: unknown };
type Key = readonly (string | number)[];

export interface Kept {
  readonly records: Records;
  readonly template: Template | null;
  readonly token: string | null;
  readonly drawing: Blob | null;
  /** When the run was last opened on this device, by its clock. */
  readonly seen: string | null;
}

export interface Change {
  readonly decide: (before: Records) => Records;
  /** A blob to store with the change, under this id. */
  readonly blob?: { readonly id: string; readonly content: Blob };
  /** Whether the page shows the change as stored. */
  readonly durable?: boolean;
}

/** Storage of a run: `RunDatabase`, or `RunMemory` if the browser stores nothing. */
export type Keeper = Pick<RunDatabase, "load" | "change" | "remember" | "blob" | "setDrawing" | "close">;

export class RunDatabase {
  private connection: Promise<IDBDatabase> | null = null;

  constructor(
    private readonly name: string,
    /** Called at first use: if site data are blocked, reading `indexedDB` can throw. */
    private readonly factory: () => IDBFactory,
  ) {}

  /** Everything stored except the blobs of operations. One transaction, because a new page shows nothing before. */
  async load(): Promise<Kept> {
    return this.within("readonly", "relaxed", async (store) => {
      const [rows, template, token, drawing, seen] = await Promise.all([
        promisifyRequest(store.getAll(recordRange())) as unknown as Promise<Row[]>,
        promisifyRequest(store.get(["template"])) as unknown as Promise<Template | undefined>,
        promisifyRequest(store.get(["token"])) as unknown as Promise<string | undefined>,
        promisifyRequest(store.get(["blob", DRAWING])) as unknown as Promise<Blob | undefined>,
        promisifyRequest(store.get(["seen"])) as unknown as Promise<string | undefined>,
      ]);
      return { records: recordsIn(rows), template: template ?? null, token: token ?? null, drawing: drawing ?? null, seen: seen ?? null };
    });
  }

  /** Applies the change to the stored records. Rejects with StorageFull, and then nothing has changed. */
  async change({ decide, blob, durable = false }: Change): Promise<Records> {
    return this.within("readwrite", durable ? "strict" : "relaxed", async (store) => {
      const rows = (await promisifyRequest(store.getAll(recordRange()))) as unknown as Row[];
      const before = recordsIn(rows);
      const after = decide(before);
      // A repeated submit that changes nothing needs no second copy of the blob.
      if (blob !== undefined && blobIds(after).includes(blob.id)) store.put(blob.content, ["blob", blob.id]);
      write(store, before, after);
      return after;
    });
  }

  async remember(values: { readonly template?: Template; readonly token?: string; readonly seen?: string }): Promise<void> {
    await this.within("readwrite", "relaxed", async (store) => {
      for (const [name, value] of Object.entries(values)) store.put(value, [name]);
    });
  }

  async blob(id: string): Promise<Blob | null> {
    const found = await this.within("readonly", "relaxed", (store) => promisifyRequest(store.get(["blob", id])));
    return (found as unknown as Blob | undefined) ?? null;
  }

  async setDrawing(content: Blob | null): Promise<void> {
    await this.within("readwrite", "strict", async (store) => {
      if (content === null) store.delete(["blob", DRAWING]);
      else store.put(content, ["blob", DRAWING]);
    });
  }

  close(): void {
    void this.connection?.then((database) => database.close()).catch(() => undefined);
    this.connection = null;
  }

  private async within<T>(
    mode: IDBTransactionMode,
    durability: IDBTransactionDurability,
    body: (store: IDBObjectStore) => Promise<T>,
  ): Promise<T> {
    const transaction = await this.begin(mode, durability);
    const over = completion(transaction);
    try {
      const result = await body(transaction.objectStore(STORE));
      await over;
      return result;
    } catch (error) {
      abort(transaction);
      await over.catch(() => undefined);
      throw isQuotaError(error) || isQuotaError(transaction.error) ? new StorageFull("The device has no room.") : error;
    }
  }

  /**
   * Browsers may close connections, e.g. when site data are cleared or a phone sleeps; the database is then opened
   * again.
   */
  private async begin(mode: IDBTransactionMode, durability: IDBTransactionDurability): Promise<IDBTransaction> {
    try {
      return (await this.open()).transaction(STORE, mode, { durability });
    } catch {
      this.connection = null;
      return (await this.open()).transaction(STORE, mode, { durability });
    }
  }

  private open(): Promise<IDBDatabase> {
    if (this.connection !== null) return this.connection;
    const request = this.factory().open(this.name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    const opened = (promisifyRequest(request) as unknown as Promise<IDBDatabase>).then((database) => {
      const forget = () => {
        if (this.connection === opened) this.connection = null;
      };
      database.onclose = forget;
      database.onversionchange = () => {
        forget();
        database.close();
      };
      return database;
    });
    this.connection = opened;
    return opened;
  }
}

export function databaseName(runId: string): string {
  return `checklist-${runId}`;
}

function recordRange(): IDBKeyRange {
  return IDBKeyRange.bound(["r"], ["r", []]);
}

function completion(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new DOMException("The change was not kept.", "AbortError"));
  });
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // The transaction had ended already.
  }
}

function isQuotaError(error: unknown): boolean {
  return typeof error === "object" && error !== null && "name" in error && error.name === "QuotaExceededError";
}

function recordsIn(rows: readonly Row[]): Records {
  const of = <T>(type: Row["type"]) => rows.filter((row) => row.type === type).map((row) => row.value as T);
  return {
    queue: of("op"),
    refused: of("refused"),
    lost: of("lost"),
    notices: of("notice"),
    run: of<NonNullable<Records["run"]>>("run")[0] ?? NO_RECORDS.run,
  };
}

function rowsOf(records: Records): Map<string, { readonly key: Key; readonly row: Row }> {
  const rows = new Map<string, { key: Key; row: Row }>();
  const add = (type: Row["type"], id: string | number, value: unknown) => {
    const key = ["r", type, id];
    rows.set(JSON.stringify(key), { key, row: { type, value } });
  };
  for (const operation of records.queue) add("op", operation.seq, operation);
  for (const entry of records.refused) add("refused", entry.operation.opId, entry);
  for (const entry of records.lost) add("lost", entry.seq, entry);
  for (const notice of records.notices) add("notice", notice.id, notice);
  if (records.run !== null) add("run", 0, records.run);
  return rows;
}

/** Writes the differences, and deletes blobs without an operation. */
function write(store: IDBObjectStore, before: Records, after: Records): void {
  const [old, now] = [rowsOf(before), rowsOf(after)];
  for (const [id, { key }] of old) if (!now.has(id)) store.delete(key as IDBValidKey);
  for (const [id, { key, row }] of now) if (old.get(id)?.row.value !== row.value) store.put(row, key as IDBValidKey);
  const needed = new Set(blobIds(after));
  for (const id of blobIds(before)) if (!needed.has(id)) store.delete(["blob", id]);
}

/** Blobs that operations refer to. */
export function blobIds(records: Records): string[] {
  const operations = [...records.queue, ...records.refused.map((entry) => entry.operation)];
  return operations.filter(hasBlob).map((operation) => operation.opId);
}
