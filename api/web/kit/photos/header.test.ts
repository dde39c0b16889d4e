/** Kind and size of a photo from its header. */

import { describe, expect, test } from "vitest";

import { headerOf, headerOfPhoto } from "./header";
import {
  HEIC_IN_TILES,
  JPEG_LITTLE_ENDIAN,
  JPEG_PROGRESSIVE,
  PNG,
  WEBP_EXTENDED,
  WEBP_LOSSLESS,
  WEBP_LOSSY,
} from "./testing/real_photos";

const KNOWN = [
  ["a JPEG", JPEG_LITTLE_ENDIAN, "jpeg", 60, 40],
  ["a progressive JPEG", JPEG_PROGRESSIVE, "jpeg", 60, 40],
  ["a PNG", PNG, "png", 30, 20],
  ["a lossy WebP", WEBP_LOSSY, "webp", 50, 20],
  ["a lossless WebP", WEBP_LOSSLESS, "webp", 50, 20],
  ["an extended WebP", WEBP_EXTENDED, "webp", 50, 20],
  ["a HEIC, which tells the size of its tiles too", HEIC_IN_TILES, "heic", 96, 70],
] as const;

describe("the header of a photo", () => {
  test.each(KNOWN)("%s", (_, bytes, kind, width, height) => {
    expect(headerOf(bytes)).toEqual({ kind, size: { width, height } });
  });

  test.each(KNOWN)("%s truncated anywhere gives the same result or none", (_, bytes, kind, width, height) => {
    const said = new Set<string>();
    for (let end = 0; end < bytes.length; end += 1) said.add(JSON.stringify(headerOf(bytes.slice(0, end))));
    const whole = JSON.stringify({ kind, size: { width, height } });
    // The tiles of a HEIC may come first.
    const tile = JSON.stringify({ kind, size: { width: 64, height: 64 } });
    const allowed = ["null", JSON.stringify({ kind, size: null }), whole, ...(kind === "heic" ? [tile] : [])];
    expect(allowed).toEqual(expect.arrayContaining([...said]));
    expect(said).toContain(whole);
  });

  test.each([
    ["nothing", ""],
    ["a text", "Dear reader, this is not a photo at all."],
    ["a PDF", "%PDF-1.7 and so on and so on"],
    ["a film", "\0\0\0\x18ftypmp42\0\0\0\0mp42isom"],
    ["a GIF", "GIF89a and so on and so on and so on"],
  ])("%s is none", (_, text) => {
    expect(headerOf(new TextEncoder().encode(text))).toBeNull();
  });

  test("a size of nothing is none", () => {
    const empty = PNG.slice();
    empty.fill(0, 16, 20);
    expect(headerOf(empty)).toEqual({ kind: "png", size: null });
  });

  test("is read after megabytes of metadata", async () => {
    const [start, rest] = [JPEG_PROGRESSIVE.slice(0, 2), JPEG_PROGRESSIVE.slice(2)];
    const own = new Uint8Array(65_537).fill(7);
    own.set([0xff, 0xe2, 0xff, 0xff]);
    const photo = new Blob([start, ...Array<BlobPart>(20).fill(own), rest]);
    expect(await headerOfPhoto(photo)).toEqual({ kind: "jpeg", size: { width: 60, height: 40 } });
  });
});
