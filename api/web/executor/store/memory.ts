/**
 * Replaces IndexedDB if the browser stores nothing for this page, e.g. because site data are blocked: answers are sent
 * as usual, and unsent ones are lost when the tab is closed. The page shows a notice.
 */
import type { Template } from "../../core/types";
import { blobIds, type Change, type Keeper, type Kept } from "./database";
import { NO_RECORDS, type Records } from "./records";

export class RunMemory implements Keeper {
  private kept: Kept = { records: NO_RECORDS, template: null, token: null, drawing: null, seen: null };
  private readonly blobs = new Map<string, Blob>();

  async load(): Promise<Kept> {
    return this.kept;
  }

  async change({ decide, blob }: Change): Promise<Records> {
    const before = this.kept.records;
    const records = decide(before);
    const needed = new Set(blobIds(records));
    if (blob !== undefined && needed.has(blob.id)) this.blobs.set(blob.id, blob.content);
    for (const id of blobIds(before)) if (!needed.has(id)) this.blobs.delete(id);
    this.kept = { ...this.kept, records };
    return records;
  }

  async remember(values: { readonly template?: Template; readonly token?: string; readonly seen?: string }): Promise<void> {
    this.kept = { ...this.kept, ...values };
  }

  async blob(id: string): Promise<Blob | null> {
    return this.blobs.get(id) ?? null;
  }

  async setDrawing(drawing: Blob | null): Promise<void> {
    this.kept = { ...this.kept, drawing };
  }

  close(): void {
    this.blobs.clear();
  }
}
