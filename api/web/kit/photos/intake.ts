/**
 * Photos between selection and storage, which may take seconds. The state is kept outside the control, which is
 * unmounted when the person changes the view.
 */
import { signal } from "@preact/signals";

import { fitted, type Fitted, type PhotoProblem } from "./fitting";

export type Refusal = PhotoProblem | "too_many";

export interface Intake {
  /** Photos that are not stored yet. */
  readonly waiting: number;
  /** Whether a photo is being resized. */
  readonly shrinking: boolean;
  /** How many of the photos added last were resized. */
  readonly madeSmaller: number;
  /** The first reason why a photo added last was rejected. */
  readonly refusal: Refusal | null;
}

const IDLE: Intake = { waiting: 0, shrinking: false, madeSmaller: 0, refusal: null };

const intakes = signal<ReadonlyMap<string, Intake>>(new Map());
const underWay = new Set<Promise<void>>();

/** The state of the control with this id. */
export function intakeOf(id: string): Intake {
  return intakes.value.get(id) ?? IDLE;
}

/** Resolves when no photo is pending. */
export async function allReady(): Promise<void> {
  while (underWay.size > 0) await Promise.allSettled(underWay);
}

interface Arrival {
  readonly photos: readonly Blob[];
  /** The reason for photos beyond the maximum. */
  readonly refusal: Refusal | null;
  keep(photo: Blob): Promise<void> | void;
  readonly fit?: (photo: Blob, options: { onShrinking(): void }) => Promise<Fitted>;
}

/** Resizes the photos one by one and passes them to `keep`. */
export function addPhotos(id: string, arrival: Arrival): Promise<void> {
  const work = addEach(id, arrival).finally(() => underWay.delete(work));
  underWay.add(work);
  return work;
}

async function addEach(id: string, { photos, refusal, keep, fit = fitted }: Arrival): Promise<void> {
  const change = (made: (before: Intake) => Partial<Intake>) => {
    const before = intakes.peek().get(id) ?? IDLE;
    intakes.value = new Map(intakes.peek()).set(id, { ...before, ...made(before) });
  };
  let left = photos.length;
  change(({ waiting }) => ({ waiting: waiting + left, madeSmaller: 0, refusal }));
  try {
    for (const photo of photos) {
      const found = await fit(photo, { onShrinking: () => change(() => ({ shrinking: true })) });
      change(() => ({ shrinking: false }));
      // A problem of a photo takes precedence over too many photos.
      if ("problem" in found) change((before) => ({ refusal: before.refusal === "too_many" ? found.problem : (before.refusal ?? found.problem) }));
      else await keep(found.photo);
      if ("photo" in found && found.madeSmaller) change(({ madeSmaller }) => ({ madeSmaller: madeSmaller + 1 }));
      left -= 1;
      change(({ waiting }) => ({ waiting: waiting - 1 }));
    }
  } finally {
    // The remaining ones, because storing one failed.
    if (left > 0) change(({ waiting }) => ({ waiting: waiting - left, shrinking: false }));
  }
}
