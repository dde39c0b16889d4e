import { expect, test } from "vitest";

import { exifOf, withExif } from "./exif";
import { exifOfTime } from "./exif_time";

const JPEG = new Blob([Uint8Array.of(0xff, 0xd8, 0xff, 0xdb, 0x00, 0x04, 0x00, 0x00, 0xff, 0xd9)], { type: "image/jpeg" });

test("a photo of the page's camera has its time, with the distance from UTC", async () => {
  const at = new Date(2026, 6, 1, 13, 5, 9);
  const segment = exifOfTime(at);
  const found = exifOf(new Uint8Array(await withExif(JPEG, segment).arrayBuffer()));
  expect(found).toEqual(segment);
  const text = new TextDecoder("latin1").decode(segment);
  expect(text).toContain("2026:07:01 13:05:09\0");
  expect(text).toMatch(/[+-]\d\d:\d\d\0/);
  // The length in the segment is without its marker.
  expect(new DataView(segment.buffer).getUint16(2)).toBe(segment.length - 2);
});
