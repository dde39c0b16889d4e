/**
 * A photo drawn anew in the browser, upright and smaller, as JPEG. What takes long is the browser's to do beside the
 * page: it decodes, scales and writes pictures in threads of its own.
 */
import { exifOf, isTurned, upright, withExif } from "./exif";
import { bytesOf, type PhotoHeader } from "./header";
import { ATTEMPTS, MAX_BYTES, type Size, sizeWithin } from "./limits";

/** Rejects where the browser cannot decode the photo, has not got the memory for it, or does not give it out again. */
export async function shrunk(photo: Blob, header: PhotoHeader): Promise<Blob> {
  if (!isHonest()) throw new Error("the browser does not give out what is drawn");
  const exif = header.kind === "jpeg" ? exifOf(await bytesOf(photo)) : null;
  const picture = await opened(photo, header, isTurned(exif));
  try {
    return await firstThatFits(picture, exif === null ? null : upright(exif));
  } finally {
    picture.close();
  }
}

async function firstThatFits(picture: Picture, exif: Uint8Array<ArrayBuffer> | null): Promise<Blob> {
  for (const { longEdge, quality } of ATTEMPTS) {
    const written = await drawn(picture, sizeWithin(picture, longEdge)).toJpeg(quality);
    const whole = exif === null ? written : withExif(written, exif);
    if (whole.size <= MAX_BYTES) return whole;
  }
  throw new Error("no size fits");
}

interface Picture extends Size {
  readonly source: CanvasImageSource;
  /** Gives its memory back at once: a phone has no room for the next one otherwise. */
  close(): void;
}

async function opened(photo: Blob, header: PhotoHeader, turned: boolean): Promise<Picture> {
  try {
    return (await scaled(photo, header, turned)) ?? pictureOf(await createImageBitmap(photo));
  } catch {
    return openedAsElement(photo);
  }
}

/**
 * Scaled while it is decoded: the page never holds the large picture. Null where that does not come out right, as in
 * browsers that do not know how, or that turn the picture after they have measured it.
 */
async function scaled(photo: Blob, { size }: PhotoHeader, turned: boolean): Promise<Picture | null> {
  const longEdge = ATTEMPTS[0]?.longEdge ?? 0;
  if (size === null || Math.max(size.width, size.height) <= longEdge) return null;
  const upright = turned ? { width: size.height, height: size.width } : size;
  const wanted = sizeWithin(upright, longEdge);
  // One side only: the browser keeps the proportions by itself. That it turns the picture is what it does unasked;
  // the option that asks for it is unknown to some that do.
  const side = wanted.width >= wanted.height ? { resizeWidth: wanted.width } : { resizeHeight: wanted.height };
  const bitmap = await createImageBitmap(photo, { ...side, resizeQuality: "high" }).catch(() => null);
  if (bitmap === null) return null;
  const isRight = Math.abs(bitmap.width - wanted.width) <= 1 && Math.abs(bitmap.height - wanted.height) <= 1;
  if (isRight) return pictureOf(bitmap);
  bitmap.close();
  return null;
}

function pictureOf(bitmap: ImageBitmap): Picture {
  return { source: bitmap, width: bitmap.width, height: bitmap.height, close: () => bitmap.close() };
}

/** For what a browser shows and still makes no bitmap of. */
async function openedAsElement(photo: Blob): Promise<Picture> {
  const image = new Image();
  const address = URL.createObjectURL(photo);
  const close = () => {
    image.removeAttribute("src");
    URL.revokeObjectURL(address);
  };
  image.src = address;
  await image.decode().catch((error: unknown) => {
    close();
    throw error;
  });
  return { source: image, width: image.naturalWidth, height: image.naturalHeight, close };
}

interface Drawing {
  toJpeg(quality: number): Promise<Blob>;
}

function drawn(picture: Picture, { width, height }: Size): Drawing {
  const { context, toJpeg } = surface(width, height);
  // JPEG knows no transparency; the service puts such pictures on white too.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(picture.source, 0, 0, width, height);
  return { toJpeg };
}

type Context = OffscreenCanvasRenderingContext2D | CanvasRenderingContext2D;

function surface(width: number, height: number): Drawing & { context: Context } {
  // Written in a thread of the browser's; a canvas of the page is written in the page's own.
  if (typeof OffscreenCanvas === "function") {
    const canvas = new OffscreenCanvas(width, height);
    const toJpeg = (quality: number) => canvas.convertToBlob({ type: "image/jpeg", quality });
    return { context: orFail(canvas.getContext("2d")), toJpeg };
  }
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const toJpeg = (quality: number) =>
    new Promise<Blob>((resolve, reject) => {
      canvas.toBlob((written) => (written === null ? reject(new Error("the browser could not write it")) : resolve(written)), "image/jpeg", quality);
    });
  return { context: orFail(canvas.getContext("2d")), toJpeg };
}

function orFail<Found extends Context>(context: Found | null): Found {
  if (context === null) throw new Error("the browser has no memory for a canvas");
  return context;
}

const ORANGE = [240, 120, 40] as const;
/** Browsers that only blur what they give out do no harm to a photo. */
const BLUR = 12;

/** Browsers set against being recognised give out noise, or nothing, in place of what was drawn: no photo would be left. */
function isHonest(): boolean {
  const { context } = surface(4, 4);
  context.fillStyle = `rgb(${ORANGE.join(" ")})`;
  context.fillRect(0, 0, 4, 4);
  const { data } = context.getImageData(0, 0, 4, 4);
  return data.every((value, at) => Math.abs(value - (ORANGE[at % 4] ?? 255)) <= BLUR);
}
