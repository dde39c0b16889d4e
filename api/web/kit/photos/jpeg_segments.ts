/** The segments of a JPEG before the image data (ITU T.81, annex B), with its size and metadata. */

export interface Segment {
  /** The second byte of the marker: 0xe1 is APP1. */
  readonly marker: number;
  /** Start of the marker, and start of the next one. */
  readonly start: number;
  readonly end: number;
}

const START_OF_SCAN = 0xda;

export function isJpeg(bytes: Uint8Array): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
}

/** In order, up to the image data or the end of `bytes`; incomplete segments are omitted. */
export function* segmentsOf(bytes: Uint8Array): Generator<Segment> {
  if (!isJpeg(bytes)) return;
  let start = 2;
  while (bytes[start] === 0xff) {
    const marker = bytes[start + 1] ?? START_OF_SCAN;
    // A marker may be preceded by fill bytes.
    if (marker === 0xff) {
      start += 1;
      continue;
    }
    const length = ((bytes[start + 2] ?? 0) << 8) | (bytes[start + 3] ?? 0);
    const end = start + 2 + length;
    if (marker === START_OF_SCAN || length < 2 || end > bytes.length) return;
    yield { marker, start, end };
    start = end;
  }
}
