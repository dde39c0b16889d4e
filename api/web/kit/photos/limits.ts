/**
 * What the service takes of one photo (`api/checklist_api/photos/limits.py`; a test holds the two together), and what
 * a photo beyond it is made into here, so that nobody waits for an upload only to hear no.
 */
import type { PhotoHeader, PhotoKind } from "./header";

export const MAX_BYTES = 10 * 1024 * 1024;
export const MAX_SIDE = 16_384;
const MAX_PIXELS = 52_000_000;
const MAX_WEBP_PIXELS = 25_000_000;

/** Phones take up to 200 megapixels. What claims more than that would take the page down while it is decoded. */
const MAX_OPENED_PIXELS = 220_000_000;

export function maxPixels(kind: PhotoKind): number {
  return kind === "webp" ? MAX_WEBP_PIXELS : MAX_PIXELS;
}

/** Whether the service would refuse it for its size. `header` is null where the file does not say what it is. */
export function isTooLarge(bytes: number, header: PhotoHeader | null): boolean {
  if (bytes > MAX_BYTES) return true;
  if (header === null || header.size === null) return false;
  const { width, height } = header.size;
  return width * height > maxPixels(header.kind) || Math.max(width, height) > MAX_SIDE;
}

/** Whether a browser may be asked to decode it. */
export function mayBeOpened(header: PhotoHeader): boolean {
  return header.size === null || header.size.width * header.size.height <= MAX_OPENED_PIXELS;
}

export interface Attempt {
  /** Pixels. */
  readonly longEdge: number;
  /** Of JPEG, 0 to 1. */
  readonly quality: number;
}

/**
 * Tried in order until one fits. The first is good enough to read a label on a shelf and fits for nearly every photo;
 * the last fits whatever is on the picture.
 */
export const ATTEMPTS: readonly Attempt[] = [
  { longEdge: 4096, quality: 0.88 },
  { longEdge: 4096, quality: 0.75 },
  { longEdge: 2560, quality: 0.75 },
  { longEdge: 1600, quality: 0.7 },
];

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size in the same proportions with a long edge of at most so many pixels. Nothing is made larger. */
export function sizeWithin({ width, height }: Size, longEdge: number): Size {
  const share = Math.min(1, longEdge / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * share)), height: Math.max(1, Math.round(height * share)) };
}
