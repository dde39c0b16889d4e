/**
 * Photos on their way from the person to what is kept. That may take seconds, so it is known here and not by the
 * control, which goes when the person looks at something else meanwhile.
 */
import { signal } from "@preact/signals";

import { fitted, type Fitted, type Misfit } from "./fitting";

export type Refusal = Misfit | "too_many";

export interface Intake {
  /** Photos that are not kept yet. */
  readonly waiting: number;
  /** Whether one of them is being made smaller. */
  readonly shrinking: boolean;
  /** How many of the photos that came last were made smaller. */
  readonly madeSmaller: number;
  /** Why one of the photos that came last was not taken: the first of the reasons. */
  readonly refusal: Refusal | null;
}

const IDLE: Intake = { waiting: 0, shrinking: false, madeSmaller: 0, refusal: null };

const intakes = signal<ReadonlyMap<string, Intake>>(new Map());
const underWay = new Set<Promise<void>>();

/** Of the control with this id. */
export function intakeOf(id: string): Intake {
  return intakes.value.get(id) ?? IDLE;
}

/** Resolves when no photo is on its way any more. */
export async function allTakenIn(): Promise<void> {
  while (underWay.size > 0) await Promise.allSettled(underWay);
}

interface Arrival {
  readonly photos: readonly Blob[];
  /** What is to be told of those that there was no room for. */
  readonly refusal: Refusal | null;
  keep(photo: Blob): Promise<void> | void;
  readonly fit?: (photo: Blob, options: { onShrinking(): void }) => Promise<Fitted>;
}

/** Makes the photos fit, one after another in their order, and hands them to `keep`. */
export function takeIn(id: string, arrival: Arrival): Promise<void> {
  const work = takeEach(id, arrival).finally(() => underWay.delete(work));
  underWay.add(work);
  return work;
}

async function takeEach(id: string, { photos, refusal, keep, fit = fitted }: Arrival): Promise<void> {
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
      // What is wrong with a photo is more to the point than that there were too many.
      if ("misfit" in found) change((before) => ({ refusal: before.refusal === "too_many" ? found.misfit : (before.refusal ?? found.misfit) }));
      else await keep(found.photo);
      if ("photo" in found && found.madeSmaller) change(({ madeSmaller }) => ({ madeSmaller: madeSmaller + 1 }));
      left -= 1;
      change(({ waiting }) => ({ waiting: waiting - 1 }));
    }
  } finally {
    // Those that were not come to, because keeping one of them failed.
    if (left > 0) change(({ waiting }) => ({ waiting: waiting - left, shrinking: false }));
  }
}
