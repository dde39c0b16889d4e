/** Prepares a photo for upload: most stay unchanged with their metadata; too large ones are resized. */
import { headerOfPhoto, type PhotoHeader } from "./header";
import { isTooLarge, canDecode } from "./limits";
import { shrunk } from "./shrinking";

/** `no_image`: not a photo; `too_large`: it cannot be resized here; `not_read`: the file cannot be read. */
export type PhotoProblem = "no_image" | "too_large" | "not_read";

export type Fitted = { readonly photo: Blob; readonly madeSmaller: boolean } | { readonly problem: PhotoProblem };

interface Options {
  /** Called before resizing, which takes a while. */
  readonly onShrinking?: () => void;
  readonly shrink?: (photo: Blob, header: PhotoHeader) => Promise<Blob>;
}

export async function fitted(photo: Blob, { onShrinking, shrink = shrunk }: Options = {}): Promise<Fitted> {
  if (photo.type !== "" && !photo.type.startsWith("image/")) return { problem: "no_image" };
  const header = await headerOfPhoto(photo).catch(() => "unreadable" as const);
  if (header === "unreadable") return { problem: "not_read" };
  // Small files of unknown kind are left to the service, which has more precise error codes.
  if (!isTooLarge(photo.size, header)) return { photo, madeSmaller: false };
  if (header === null) return { problem: "no_image" };
  if (!canDecode(header)) return { problem: "too_large" };
  try {
    onShrinking?.();
    return { photo: await serialized(() => shrink(photo, header)), madeSmaller: true };
  } catch {
    return { problem: "too_large" };
  }
}

let last: Promise<unknown> = Promise.resolve();

/** One at a time for all steps: decoding a photo of 50 megapixels takes 200 MB of memory. */
function serialized<Result>(work: () => Promise<Result>): Promise<Result> {
  const mine = last.then(work);
  last = mine.catch(() => undefined);
  return mine;
}
