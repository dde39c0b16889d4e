/** Metadata of a resized photo. */

import { describe, expect, test } from "vitest";

import { exifOf, isTurned, upright, withExif } from "./exif";
import { headerOf } from "./header";
import { JPEG_BIG_ENDIAN, JPEG_LITTLE_ENDIAN, JPEG_PROGRESSIVE, PNG } from "./testing/real_photos";

const BOTH_ORDERS = [
  ["big-endian", JPEG_BIG_ENDIAN],
  ["little-endian", JPEG_LITTLE_ENDIAN],
] as const;

function found(jpeg: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const exif = exifOf(jpeg);
  if (exif === null) throw new Error("no EXIF");
  return exif;
}

describe.each(BOTH_ORDERS)("the EXIF of a %s photo that lies on its side", (_, jpeg) => {
  test("is found, and is rotated", () => {
    expect(isTurned(found(jpeg))).toBe(true);
  });

  test("has upright orientation in the copy, and is otherwise unchanged", () => {
    const [before, after] = [found(jpeg), upright(found(jpeg))];
    expect(isTurned(after)).toBe(false);
    expect(new TextDecoder("latin1").decode(after)).toContain("2026:05:04 03:02:01");
    const changed = [...before.keys()].filter((at) => before[at] !== after[at]);
    expect(changed.map((at) => [before[at], after[at]])).toEqual([[6, 1]]);
  });

  test("does not change the original", () => {
    const untouched = jpeg.slice();
    upright(found(jpeg));
    expect(jpeg).toEqual(untouched);
  });

  test("is found again in the copy, which stays the picture that it was", async () => {
    const exif = upright(found(jpeg));
    const whole = withExif(new Blob([JPEG_PROGRESSIVE], { type: "image/jpeg" }), exif);
    const bytes = new Uint8Array(await whole.arrayBuffer());
    expect(whole.type).toBe("image/jpeg");
    expect(exifOf(bytes)).toEqual(exif);
    expect(headerOf(bytes)).toEqual(headerOf(JPEG_PROGRESSIVE));
    expect(bytes.length).toBe(JPEG_PROGRESSIVE.length + exif.length);
  });

  test("that is truncated or corrupt is copied unchanged", () => {
    const exif = found(jpeg);
    for (let end = 0; end <= exif.length; end += 1) expect(upright(exif.slice(0, end))).toHaveLength(end);
    for (let at = 10; at < exif.length; at += 1) {
      const broken = exif.slice();
      broken.fill(0xff, at, at + 4);
      expect(upright(broken)).toHaveLength(exif.length);
      expect(isTurned(upright(broken))).toBe(false);
    }
  });
});

test.each([
  ["a JPEG without EXIF", JPEG_PROGRESSIVE],
  ["a PNG", PNG],
])("%s has none, and is not turned", (_, bytes) => {
  expect(exifOf(bytes)).toBeNull();
  expect(isTurned(exifOf(bytes))).toBe(false);
});
