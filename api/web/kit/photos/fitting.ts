/** A photo as the service takes it: most as they are, with all their metadata, and those that are too large made smaller. */
import { headerOfPhoto, type PhotoHeader } from "./header";
import { isTooLarge, mayBeOpened } from "./limits";
import { shrunk } from "./shrinking";

/** `no_image`: not a photo; `too_large`: and it cannot be made smaller here; `not_read`: the device does not give it out. */
export type Misfit = "no_image" | "too_large" | "not_read";

export type Fitted = { readonly photo: Blob; readonly madeSmaller: boolean } | { readonly misfit: Misfit };

interface Options {
  /** It is about to be made smaller, which takes its time. */
  readonly onShrinking?: () => void;
  readonly shrink?: (photo: Blob, header: PhotoHeader) => Promise<Blob>;
}

export async function fitted(photo: Blob, { onShrinking, shrink = shrunk }: Options = {}): Promise<Fitted> {
  if (photo.type !== "" && !photo.type.startsWith("image/")) return { misfit: "no_image" };
  const header = await headerOfPhoto(photo).catch(() => "unreadable" as const);
  if (header === "unreadable") return { misfit: "not_read" };
  // What small files are is the service's to judge: it knows more kinds by name than are told apart here.
  if (!isTooLarge(photo.size, header)) return { photo, madeSmaller: false };
  if (header === null) return { misfit: "no_image" };
  if (!mayBeOpened(header)) return { misfit: "too_large" };
  try {
    onShrinking?.();
    return { photo: await inTurn(() => shrink(photo, header)), madeSmaller: true };
  } catch {
    return { misfit: "too_large" };
  }
}

let last: Promise<unknown> = Promise.resolve();

/** One at a time, whichever step they are for: a photo of 50 megapixels takes 200 MB of a phone while it is decoded. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const mine = last.then(work);
  last = mine.catch(() => undefined);
  return mine;
}
