/**
 * The service's limits for photos (`api/checklist_api/photos/limits.py`; a test compares both), and the resize attempts
 * for larger ones, so that no upload ends with a rejection.
 */
import type { PhotoHeader, PhotoKind } from "./header";

export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;
export const MAX_SIDE = 16_384;
const MAX_PIXELS = 52_000_000;
const MAX_WEBP_PIXELS = 25_000_000;

/** Phones take up to 200 megapixels. Decoding a larger image could crash the page. */
const MAX_DECODED_PIXELS = 220_000_000;

export function maxPixels(kind: PhotoKind): number {
  return kind === "webp" ? MAX_WEBP_PIXELS : MAX_PIXELS;
}

/** Whether the service would reject the size. `header` is null if the kind is unknown. */
export function isTooLarge(bytes: number, header: PhotoHeader | null): boolean {
  if (bytes > MAX_UPLOAD_BYTES) return true;
  if (header === null || header.size === null) return false;
  const { width, height } = header.size;
  return width * height > maxPixels(header.kind) || Math.max(width, height) > MAX_SIDE;
}

/** Whether the browser can decode it safely. */
export function canDecode(header: PhotoHeader): boolean {
  return header.size === null || header.size.width * header.size.height <= MAX_DECODED_PIXELS;
}

export interface Attempt {
  /** Pixels. */
  readonly longEdge: number;
  /** JPEG quality, 0 to 1. */
  readonly quality: number;
}

/**
 * Tried in order until one fits. The first is good enough to read a label on a shelf and fits for nearly every photo;
 * the last fits any photo.
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

/** The size with the same aspect ratio and at most this long edge; never larger. */
export function sizeWithin({ width, height }: Size, longEdge: number): Size {
  const share = Math.min(1, longEdge / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * share)), height: Math.max(1, Math.round(height * share)) };
}
