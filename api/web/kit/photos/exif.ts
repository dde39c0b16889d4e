/**
 * Copies the EXIF segment (time and location of a photo) to its resized copy, since a browser's canvas drops it. Only
 * the orientation changes, since the copy is upright (EXIF 2.32, section 4.6).
 */
import { segmentsOf } from "./jpeg_segments";

const APP1 = 0xe1;
const SIGNATURE = "Exif\0\0";
/** After the marker, the length and the signature. */
const TIFF = 4 + SIGNATURE.length;
const ENTRY_BYTES = 12;
const ORIENTATION = 0x0112;

/** The whole EXIF segment of a JPEG including the marker; null if it has none. */
export function exifOf(jpeg: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null {
  for (const { marker, start, end } of segmentsOf(jpeg)) {
    const signature = String.fromCharCode(...jpeg.subarray(start + 4, start + TIFF));
    if (marker === APP1 && signature === SIGNATURE) return jpeg.slice(start, end);
  }
  return null;
}

/** Whether a photo with this segment is displayed with swapped sides. */
export function isTurned(exif: Uint8Array | null): boolean {
  const found = exif === null ? null : orientationIn(exif);
  return found !== null && found.view.getUint16(found.at, found.little) >= 5;
}

/** The same segment with upright orientation. */
export function upright(exif: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const copy = exif.slice();
  const found = orientationIn(copy);
  found?.view.setUint16(found.at, 1, found.little);
  return copy;
}

/** Inserts the segment at the beginning of a JPEG, as EXIF requires. */
export function withExif(jpeg: Blob, exif: Uint8Array<ArrayBuffer>): Blob {
  return new Blob([jpeg.slice(0, 2), exif, jpeg.slice(2)], { type: jpeg.type });
}

interface Place {
  readonly view: DataView;
  readonly at: number;
  readonly little: boolean;
}

/** The position of the orientation; null if the segment has none or is malformed. */
function orientationIn(exif: Uint8Array): Place | null {
  const view = new DataView(exif.buffer, exif.byteOffset, exif.byteLength);
  if (exif.length < TIFF + 8) return null;
  const little = view.getUint16(TIFF) === 0x4949;
  const directory = TIFF + view.getUint32(TIFF + 4, little);
  if (directory + 2 > exif.length) return null;
  const count = view.getUint16(directory, little);
  for (let entry = directory + 2; entry < directory + 2 + count * ENTRY_BYTES; entry += ENTRY_BYTES) {
    if (entry + ENTRY_BYTES > exif.length) return null;
    if (view.getUint16(entry, little) === ORIENTATION) return { view, at: entry + 8, little };
  }
  return null;
}
