/** Resizes a photo in the browser to an upright JPEG. Decoding, scaling and encoding run in browser threads. */
import { exifOf, isTurned, upright, withExif } from "./exif";
import { bytesOf, type PhotoHeader } from "./header";
import { ATTEMPTS, MAX_UPLOAD_BYTES, type Size, sizeWithin } from "./limits";

/** Rejects if the browser cannot decode the photo, lacks memory, or does not return the canvas content. */
export async function shrunk(photo: Blob, header: PhotoHeader): Promise<Blob> {
  if (!isReliable()) throw new Error("the browser does not give out what is drawn");
  const exif = header.kind === "jpeg" ? exifOf(await bytesOf(photo)) : null;
  const picture = await decoded(photo, header, isTurned(exif));
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
    if (whole.size <= MAX_UPLOAD_BYTES) return whole;
  }
  throw new Error("no size fits");
}

interface Picture extends Size {
  readonly source: CanvasImageSource;
  /** Frees the memory at once: a phone has no room for the next photo otherwise. */
  close(): void;
}

async function decoded(photo: Blob, header: PhotoHeader, turned: boolean): Promise<Picture> {
  try {
    return (await scaled(photo, header, turned)) ?? pictureOf(await createImageBitmap(photo));
  } catch {
    return decodedAsImage(photo);
  }
}

/**
 * Scaled while decoding, so that the page never holds the large image. Null if the result is wrong, as in browsers
 * without support, or that rotate the image after measuring it.
 */
async function scaled(photo: Blob, { size }: PhotoHeader, turned: boolean): Promise<Picture | null> {
  const longEdge = ATTEMPTS[0]?.longEdge ?? 0;
  if (size === null || Math.max(size.width, size.height) <= longEdge) return null;
  const upright = turned ? { width: size.height, height: size.width } : size;
  const wanted = sizeWithin(upright, longEdge);
  // Only one side: the browser keeps the aspect ratio. It applies the orientation by default; some browsers do not know
  // the option for it.
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

/** For photos that the browser displays but cannot turn into a bitmap. */
async function decodedAsImage(photo: Blob): Promise<Picture> {
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
  // JPEG has no transparency; the service puts such pictures on white, too.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(picture.source, 0, 0, width, height);
  return { toJpeg };
}

type Context = OffscreenCanvasRenderingContext2D | CanvasRenderingContext2D;

function surface(width: number, height: number): Drawing & { context: Context } {
  // OffscreenCanvas is encoded in a browser thread; a canvas element in the page's thread.
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
/** Browsers that only blur canvas content are acceptable. */
const BLUR = 12;

/** Browsers with fingerprinting protection return noise or nothing instead of the canvas content. */
function isReliable(): boolean {
  const { context } = surface(4, 4);
  context.fillStyle = `rgb(${ORANGE.join(" ")})`;
  context.fillRect(0, 0, 4, 4);
  const { data } = context.getImageData(0, 0, 4, 4);
  return data.every((value, at) => Math.abs(value - (ORANGE[at % 4] ?? 255)) <= BLUR);
}
