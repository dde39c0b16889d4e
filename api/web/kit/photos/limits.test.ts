/** Size limits, and the resize attempts. */

import { describe, expect, test } from "vitest";

import { ATTEMPTS, isTooLarge, MAX_UPLOAD_BYTES, MAX_SIDE, maxPixels, canDecode, sizeWithin } from "./limits";
import type { PhotoKind } from "./header";

const [limitsOfTheService = ""] = Object.values(
  import.meta.glob<string>("../../../checklist_api/photos/limits.py", { query: "?raw", import: "default", eager: true }),
);

function ofTheService(name: string): number {
  const [, product = ""] = new RegExp(`^${name}: Final = ([\\d_* ]+)$`, "m").exec(limitsOfTheService) ?? [];
  return product.split("*").reduce((made, factor) => made * Number(factor.replaceAll("_", "")), 1);
}

const of = (kind: PhotoKind, width: number, height: number) => ({ kind, size: { width, height } });

test("the limits equal the service's", () => {
  expect([MAX_UPLOAD_BYTES, MAX_SIDE, maxPixels("jpeg"), maxPixels("heic"), maxPixels("webp")]).toEqual(
    ["MAX_UPLOAD_BYTES", "MAX_SIDE", "MAX_PIXELS", "MAX_PIXELS", "MAX_WEBP_PIXELS"].map(ofTheService),
  );
  expect(MAX_UPLOAD_BYTES).toBe(10_485_760);
});

describe("a photo is too large", () => {
  test("by its size in bytes", () => {
    expect(isTooLarge(MAX_UPLOAD_BYTES, of("jpeg", 4000, 3000))).toBe(false);
    expect(isTooLarge(MAX_UPLOAD_BYTES + 1, of("jpeg", 4000, 3000))).toBe(true);
    expect(isTooLarge(MAX_UPLOAD_BYTES + 1, null)).toBe(true);
  });

  test("by its pixels, of which a WebP may have fewer", () => {
    expect(isTooLarge(1, of("jpeg", 8000, 6500))).toBe(false);
    expect(isTooLarge(1, of("jpeg", 8001, 6500))).toBe(true);
    expect(isTooLarge(1, of("webp", 5000, 5000))).toBe(false);
    expect(isTooLarge(1, of("webp", 5001, 5000))).toBe(true);
  });

  test("by one side", () => {
    expect(isTooLarge(1, of("jpeg", 1000, MAX_SIDE))).toBe(false);
    expect(isTooLarge(1, of("png", 1000, MAX_SIDE + 1))).toBe(true);
    expect(isTooLarge(1, of("heic", MAX_SIDE + 1, 1000))).toBe(true);
  });

  test("not if its size is unknown", () => {
    expect(isTooLarge(1, null)).toBe(false);
    expect(isTooLarge(1, { kind: "jpeg", size: null })).toBe(false);
  });
});

test("the largest photos of phones are decoded, larger headers are not", () => {
  expect(canDecode(of("jpeg", 16_320, 12_240))).toBe(true);
  expect(canDecode({ kind: "jpeg", size: null })).toBe(true);
  expect(canDecode(of("png", 30_000, 30_000))).toBe(false);
});

test("a size keeps its aspect ratio, never grows, and is never zero", () => {
  expect(sizeWithin({ width: 8000, height: 6000 }, 4096)).toEqual({ width: 4096, height: 3072 });
  expect(sizeWithin({ width: 6000, height: 8000 }, 4096)).toEqual({ width: 3072, height: 4096 });
  expect(sizeWithin({ width: 640, height: 480 }, 4096)).toEqual({ width: 640, height: 480 });
  expect(sizeWithin({ width: 50_000, height: 3 }, 1600)).toEqual({ width: 1600, height: 1 });
});

test("each attempt is smaller than the one before, and the last fits almost uncompressed", () => {
  const [, ...later] = ATTEMPTS;
  for (const [place, attempt] of later.entries()) {
    const before = ATTEMPTS[place];
    if (before === undefined) throw new Error("no attempt before");
    expect(attempt.longEdge * attempt.quality).toBeLessThan(before.longEdge * before.quality);
  }
  // Three bytes per pixel is the size of the raw image; metadata take up to 64 KiB.
  const last = ATTEMPTS.at(-1)?.longEdge ?? Number.POSITIVE_INFINITY;
  expect(last * last * 3 + 65_537).toBeLessThan(MAX_UPLOAD_BYTES);
});
