/** Photos of answers: thumbnails in the page, large in a dialog with arrow keys. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Photo } from "../../core/types";
import { Dialog } from "../../kit/controls/dialog";
import { Icon } from "../../kit/controls/icon";
import { serverNow } from "../clock";
import { localTime } from "../parts/time";
import { answeredSteps, type RunStory } from "./runs_types";

export type ShownPhoto = Photo & { readonly title: string };

/** All photos in the order of the checklist. */
export function photosOf(story: RunStory): readonly ShownPhoto[] {
  return answeredSteps(story).flatMap(({ step, answer }) => answer.photos.map((photo) => ({ ...photo, title: step.label })));
}

export function PhotoThumb({ photo, label, onOpen }: { photo: Photo; label: string; onOpen(): void }) {
  return (
    <button type="button" class="photo-thumb" aria-label={label} onClick={onOpen}>
      <img src={photo.thumbnail_url ?? photo.url} alt="" width={96} height={96} loading="lazy" decoding="async" />
    </button>
  );
}

interface ViewerProps {
  photos: readonly ShownPhoto[];
  start: number;
  onClose(): void;
}

const MAX_ZOOM = 8;

/** Plus and minus zoom. Arrow keys, Home and End move through all photos of the run; Escape closes. */
export function PhotoViewer({ photos, start, onClose }: ViewerProps) {
  const [at, setAt] = useState(start);
  const [zoom, setZoom] = useState(1);
  const frame = useRef<HTMLDivElement>(null);
  /** What is in the middle of the frame, as shares of the width and height. */
  const centre = useRef<readonly [number, number]>([0.5, 0.5]);
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return;
    current.scrollLeft = centre.current[0] * current.scrollWidth - current.clientWidth / 2;
    current.scrollTop = centre.current[1] * current.scrollHeight - current.clientHeight / 2;
  }, [zoom, at]);
  const photo = photos[at];
  if (photo === undefined) return null;
  const go = (to: number) => {
    setZoom(1);
    centre.current = [0.5, 0.5];
    setAt(Math.max(0, Math.min(photos.length - 1, to)));
  };
  const resize = (factor: number) => {
    if (frame.current !== null) centre.current = centreOf(frame.current);
    setZoom((before) => Math.max(1, Math.min(MAX_ZOOM, before * factor)));
  };
  const drag = (event: PointerEvent) => {
    if (event.pointerType === "mouse" && event.buttons === 1) frame.current?.scrollBy(-event.movementX, -event.movementY);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const factor = { "+": 2, "-": 0.5 }[event.key];
    if (factor !== undefined) return resize(factor);
    // A zoomed photo is scrolled with the arrow keys.
    if (zoom > 1 && event.target instanceof Element && event.target.classList.contains("photo-frame")) return;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: photos.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  };
  return (
    <div onKeyDown={onKeyDown}>
      <Dialog
        title={photo.title}
        class="photo-dialog"
        onClose={onClose}
        foot={
          <>
            <button type="button" class="button" aria-disabled={zoom === 1} onClick={() => resize(0.5)}>
              <Icon name="minus" />
              Zoom out
            </button>
            <button type="button" class="button" aria-disabled={zoom === MAX_ZOOM} onClick={() => resize(2)}>
              <Icon name="plus" />
              Zoom in
            </button>
            {photos.length > 1 && (
            <>
              <button type="button" class="button" aria-disabled={at === 0} onClick={() => go(at - 1)}>
                <Icon name="back" />
                Previous
              </button>
              <button type="button" class="button" aria-disabled={at === photos.length - 1} onClick={() => go(at + 1)}>
                Next
                <Icon name="forward" />
              </button>
            </>
            )}
          </>
        }
      >
        <div ref={frame} class={zoom > 1 ? "photo-frame is-zoomed" : "photo-frame"} onPointerMove={drag} {...(zoom > 1 ? { tabIndex: 0, role: "group", "aria-label": "Enlarged photo, scrollable" } : {})}>
          <img key={photo.url} class="photo-large" style={{ inlineSize: `${zoom * 100}%`, blockSize: `${zoom * 100}%` }} src={photo.url} alt={`Photo ${at + 1}: ${photo.title}`} draggable={false} />
        </div>
        <p class="small quiet" role="status">
          {zoom > 1 && `${zoom * 100} % · `}
          {`Photo ${at + 1} of ${photos.length} · ${photo.width} × ${photo.height}`}
          {photo.captured_at !== null && ` · taken ${localTime(photo.captured_at)}${photo.captured_at_zone === "assumed" ? " (time zone assumed)" : ""}`}
          {typeof photo.distance_m === "number" && ` · ${Math.round(photo.distance_m)} m from where it was answered`}
          {" · "}
          <a href={photo.url} target="_blank" rel="noopener">
            Open alone
          </a>
        </p>
      </Dialog>
    </div>
  );
}

function centreOf(frame: HTMLElement): readonly [number, number] {
  return [(frame.scrollLeft + frame.clientWidth / 2) / frame.scrollWidth, (frame.scrollTop + frame.clientHeight / 2) / frame.scrollHeight];
}

const GOOD_FOR_MS = 10 * 60_000;
const known = new Map<string, string>();

/** Each read signs the photos' URLs again; keeping the earlier URLs avoids loading a photo twice. */
export function withKnownAddresses(story: RunStory): RunStory {
  const answers = Object.entries(story.answers).map(([id, answer]) => {
    const photos = answer.photos.map((photo) => ({ ...photo, url: steady(photo.url), thumbnail_url: photo.thumbnail_url ? steady(photo.thumbnail_url) : null }));
    return [id, { ...answer, photos }] as const;
  });
  return { ...story, answers: Object.fromEntries(answers) };
}

/** The first URL of the photo while it is valid for long enough. */
function steady(url: string): string {
  const [which = ""] = url.split("?");
  const before = known.get(which);
  if (before !== undefined && endOf(before) - serverNow() > GOOD_FOR_MS) return before;
  known.set(which, url);
  return url;
}

function endOf(url: string): number {
  return Number(new URL(url, document.baseURI).searchParams.get("e")) * 1000;
}
