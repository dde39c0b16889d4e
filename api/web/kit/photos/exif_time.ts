/** EXIF with the time of a photo that the page's own camera took (EXIF 2.32, section 4.6). */

import { localTimestamp } from "../../core";

const TAG = { exifDirectory: 0x8769, version: 0x9000, taken: 0x9003, zone: 0x9011 } as const;
const TYPE = { ascii: 2, long: 4, undefined: 7 } as const;
const HEAD_BYTES = 10;
const TIFF_BYTES = 96;
/** Offsets in the TIFF structure. */
const DIRECTORY = 8;
const EXIF_DIRECTORY = 26;
const TAKEN = 68;
const ZONE = 88;

/** The segment including its marker. The time is local, with its distance from UTC. */
export function exifOfTime(at: Date): Uint8Array<ArrayBuffer> {
  const segment = new Uint8Array(HEAD_BYTES + TIFF_BYTES);
  const view = new DataView(segment.buffer);
  const text = (offset: number, value: string) => segment.set(new TextEncoder().encode(value), offset);
  view.setUint16(0, 0xffe1);
  view.setUint16(2, segment.length - 2);
  text(4, "Exif\0\0");
  const entry = (offset: number, tag: number, type: number, count: number, value: number) => {
    const at = HEAD_BYTES + offset;
    view.setUint16(at, tag);
    view.setUint16(at + 2, type);
    view.setUint32(at + 4, count);
    view.setUint32(at + 8, value);
  };
  text(HEAD_BYTES, "MM\0*");
  view.setUint32(HEAD_BYTES + 4, DIRECTORY);
  view.setUint16(HEAD_BYTES + DIRECTORY, 1);
  entry(DIRECTORY + 2, TAG.exifDirectory, TYPE.long, 1, EXIF_DIRECTORY);
  view.setUint16(HEAD_BYTES + EXIF_DIRECTORY, 3);
  entry(EXIF_DIRECTORY + 2, TAG.version, TYPE.undefined, 4, 0x30323332);
  entry(EXIF_DIRECTORY + 14, TAG.taken, TYPE.ascii, 20, TAKEN);
  entry(EXIF_DIRECTORY + 26, TAG.zone, TYPE.ascii, 7, ZONE);
  const local = localTimestamp(at);
  text(HEAD_BYTES + TAKEN, local.slice(0, 19).replaceAll("-", ":").replace("T", " "));
  text(HEAD_BYTES + ZONE, local.endsWith("Z") ? "+00:00" : local.slice(-6));
  return segment;
}
