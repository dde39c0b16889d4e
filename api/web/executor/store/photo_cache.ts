/** Pictures and upload progress of photos in this tab, which are not stored in the database. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { LocalPhotos } from "./projection";
import type { Records } from "./records";

export class PhotoCache {
  private readonly pictures = signal<ReadonlyMap<string, string>>(new Map());
  private readonly uploads = signal<ReadonlyMap<string, number>>(new Map());
  private readonly origins = signal<ReadonlyMap<string, string>>(new Map());

  private readonly orders = signal<ReadonlyMap<string, readonly string[]>>(new Map());

  readonly desk: ReadonlySignal<LocalPhotos> = computed(() => {
    const [pictures, uploads, origins, orders] = [this.pictures.value, this.uploads.value, this.origins.value, this.orders.value];
    return {
      picture: (opId) => pictures.get(opId) ?? "",
      upload: (opId) => uploads.get(opId) ?? null,
      origin: (stepId, index) => origins.get(place(stepId, index)) ?? null,
      order: (stepId) => orders.get(stepId) ?? [],
    };
  });

  show(opId: string, content: Blob): void {
    if (this.pictures.peek().has(opId)) return;
    this.pictures.value = new Map(this.pictures.peek()).set(opId, URL.createObjectURL(content));
  }

  /** Loads pictures of pending blobs from an earlier visit or another tab. */
  async load({ queue, refused }: Records, read: (opId: string) => Promise<Blob | null>, ended: AbortSignal): Promise<void> {
    for (const { kind, opId } of [...queue, ...refused.map((entry) => entry.operation)]) {
      if (kind !== "photo" || this.pictures.peek().has(opId)) continue;
      const content = await read(opId).catch(() => null);
      if (content !== null && !ended.aborted) this.show(opId, content);
    }
  }

  uploading(opId: string, share: number | null): void {
    const uploads = new Map(this.uploads.peek());
    if (share === null) uploads.delete(opId);
    // Rounded to hundredths: each change renders the step again.
    else uploads.set(opId, Math.floor(share * 100) / 100);
    if (uploads.get(opId) !== this.uploads.peek().get(opId)) this.uploads.value = uploads;
  }

  arrived(opId: string, stepId: string, index: number): void {
    this.origins.value = new Map(this.origins.peek()).set(place(stepId, index), opId);
  }

  /** Shows the photos of the step in the order of these keys. */
  arrange(stepId: string, keys: readonly string[]): void {
    this.orders.value = new Map(this.orders.peek()).set(stepId, keys);
  }

  gone(stepId: string, index: number): void {
    const origins = new Map(this.origins.peek());
    if (origins.delete(place(stepId, index))) this.origins.value = origins;
  }

  close(): void {
    for (const url of this.pictures.peek().values()) URL.revokeObjectURL(url);
    this.pictures.value = new Map();
  }
}

function place(stepId: string, index: number): string {
  return `${stepId} ${index}`;
}
