/** Reads kind and size of a photo from its header, as the service does: a browser would decode the whole photo. */
import { isJpeg, segmentsOf } from "./jpeg_segments";
import type { Size } from "./limits";

export type PhotoKind = "jpeg" | "png" | "webp" | "heic";

export interface PhotoHeader {
  readonly kind: PhotoKind;
  /** Stored pixels, regardless of orientation; null if the header does not contain them. */
  readonly size: Size | null;
}

/** Enough for most files. If the size is not found, e.g. after megabytes of metadata, the whole file is read. */
const FIRST_BYTES = 256 * 1024;

/** null: not a supported kind. Rejects if the file cannot be read. */
export async function headerOfPhoto(photo: Blob): Promise<PhotoHeader | null> {
  const first = headerOf(await bytesOf(photo.slice(0, FIRST_BYTES)));
  if (first === null || first.size !== null || photo.size <= FIRST_BYTES) return first;
  return headerOf(await bytesOf(photo));
}

export async function bytesOf(photo: Blob): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await photo.arrayBuffer());
}

export function headerOf(bytes: Uint8Array): PhotoHeader | null {
  if (isJpeg(bytes)) return { kind: "jpeg", size: sizeOfJpeg(bytes) };
  if (textAt(bytes, 0, 8) === "\x89PNG\r\n\x1a\n") return { kind: "png", size: sizeOfPng(bytes) };
  if (textAt(bytes, 0, 4) === "RIFF" && textAt(bytes, 8, 4) === "WEBP") return { kind: "webp", size: sizeOfWebp(bytes) };
  if (textAt(bytes, 4, 4) === "ftyp" && isHeic(bytes)) return { kind: "heic", size: sizeOfHeic(bytes) };
  return null;
}

function sizeOfJpeg(bytes: Uint8Array): Size | null {
  for (const { marker, start, end } of segmentsOf(bytes)) {
    // Start of frame of any process; the three markers between are tables.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    const frame = view(bytes.subarray(start, end));
    if (isFrame) return sizeFrom(frame, 9, () => [frame.getUint16(7), frame.getUint16(5)]);
  }
  return null;
}

function sizeOfPng(bytes: Uint8Array): Size | null {
  const from = view(bytes);
  return sizeFrom(from, 24, () => [from.getUint32(16), from.getUint32(20)]);
}

/** As `webp_size` of the service. */
function sizeOfWebp(bytes: Uint8Array): Size | null {
  const kind = textAt(bytes, 12, 4);
  const from = view(bytes);
  if (kind === "VP8X") return sizeFrom(from, 30, () => [1 + (from.getUint32(23, true) >>> 8), 1 + (from.getUint32(26, true) >>> 8)]);
  if (kind === "VP8 ") return sizeFrom(from, 30, () => [from.getUint16(26, true) & 0x3fff, from.getUint16(28, true) & 0x3fff]);
  if (kind !== "VP8L") return null;
  return sizeFrom(from, 25, () => {
    const bits = from.getUint32(21, true);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  });
}

const HEVC_BRANDS: ReadonlySet<string> = new Set(["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]);

function isHeic(bytes: Uint8Array): boolean {
  if (bytes.length < 12) return false;
  const end = Math.min(view(bytes).getUint32(0), bytes.length);
  if (HEVC_BRANDS.has(textAt(bytes, 8, 4))) return true;
  for (let at = 16; at < end; at += 4) if (HEVC_BRANDS.has(textAt(bytes, at, 4))) return true;
  return false;
}

/**
 * The largest of the spatial extents (ISO/IEC 23008-12, 6.5.3): a file also contains those of its tiles and thumbnail.
 * Resolving the references would give the same result.
 */
function sizeOfHeic(bytes: Uint8Array): Size | null {
  const from = view(bytes);
  let largest: Size | null = null;
  for (let at = bytes.indexOf(0x69); at >= 0; at = bytes.indexOf(0x69, at + 1)) {
    if (textAt(bytes, at, 4) !== "ispe" || at < 4 || at + 16 > bytes.length || from.getUint32(at - 4) !== 20) continue;
    const [width, height] = [from.getUint32(at + 8), from.getUint32(at + 12)];
    if (largest === null || width * height > largest.width * largest.height) largest = { width, height };
  }
  return largest;
}

function sizeFrom(from: DataView, needed: number, read: () => [number, number]): Size | null {
  if (from.byteLength < needed) return null;
  const [width, height] = read();
  return width > 0 && height > 0 ? { width, height } : null;
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function textAt(bytes: Uint8Array, start: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}
