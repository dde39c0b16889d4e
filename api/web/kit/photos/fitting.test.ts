/** Which photos are unchanged, which are resized, and which are rejected. */

import { describe, expect, test } from "vitest";

import { fitted } from "./fitting";
import { MAX_UPLOAD_BYTES } from "./limits";
import { HEIC_IN_TILES, JPEG_BIG_ENDIAN, PNG } from "./testing/real_photos";

const never = () => Promise.reject(new Error("it was not to be made smaller"));
const small = new Blob(["small"], { type: "image/jpeg" });
const padding = new Uint8Array(MAX_UPLOAD_BYTES);

function photo(bytes: BlobPart, type: string): Blob {
  return new Blob([bytes], { type });
}

function large(bytes: BlobPart, type: string): Blob {
  return new Blob([bytes, padding], { type });
}

/** A PNG whose header has these dimensions. */
function claiming(width: number, height: number): Blob {
  const bytes = PNG.slice();
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return photo(bytes, "image/png");
}

describe("a photo that is small enough", () => {
  test.each([
    ["a JPEG", photo(JPEG_BIG_ENDIAN, "image/jpeg")],
    ["a HEIC, whose type the browser does not know", photo(HEIC_IN_TILES, "")],
    ["a kind that only the service can tell", photo("GIF89a", "image/gif")],
  ])("is the very same one: %s", async (_, given) => {
    const found = await fitted(given, { shrink: never });
    expect(found).toEqual({ photo: given, madeSmaller: false });
    expect("photo" in found && found.photo).toBe(given);
  });
});

describe("a photo that is too large", () => {
  test.each([
    ["by its bytes", large(JPEG_BIG_ENDIAN, "image/jpeg")],
    ["by its pixels", claiming(9000, 6000)],
    ["by one side", claiming(20_000, 10)],
  ])("%s is resized, with a callback before it starts", async (_, given) => {
    const calls: string[] = [];
    const shrink = (): Promise<Blob> => {
      calls.push("shrinking");
      return Promise.resolve(small);
    };
    const found = await fitted(given, { shrink, onShrinking: () => calls.push("calls") });
    expect(found).toEqual({ photo: small, madeSmaller: true });
    expect(calls).toEqual(["calls", "shrinking"]);
  });

  test("and that the browser cannot decode is too large", async () => {
    const shrink = () => Promise.reject(new DOMException("The source image could not be decoded.", "InvalidStateError"));
    expect(await fitted(large(HEIC_IN_TILES, "image/heic"), { shrink })).toEqual({ problem: "too_large" });
  });

  test("and would take the page down is too large, and not even opened", async () => {
    expect(await fitted(claiming(30_000, 30_000), { shrink: never, onShrinking: never })).toEqual({ problem: "too_large" });
  });

  test("is resized one at a time, also after a failure", async () => {
    let [running, most, turn] = [0, 0, 0];
    const shrink = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve));
      running -= 1;
      turn += 1;
      if (turn === 2) throw new Error("no memory");
      return small;
    };
    const found = await Promise.all([1, 2, 3].map(() => fitted(claiming(9000, 6000), { shrink })));
    expect(most).toBe(1);
    expect(found.filter((one) => "problem" in one)).toHaveLength(1);
    expect(found.filter((one) => "photo" in one)).toHaveLength(2);
  });
});

test.each([
  ["by what the browser says", photo("%PDF-1.7", "application/pdf")],
  ["by its bytes", large("%PDF-1.7", "")],
])("a file that is not a photo is reported %s", async (_, given) => {
  expect(await fitted(given, { shrink: never })).toEqual({ problem: "no_image" });
});

test("a file that cannot be read is reported as unreadable", async () => {
  const gone = photo(JPEG_BIG_ENDIAN, "image/jpeg");
  gone.slice = () => {
    throw new DOMException("The file could not be read.", "NotReadableError");
  };
  expect(await fitted(gone, { shrink: never })).toEqual({ problem: "not_read" });
});
