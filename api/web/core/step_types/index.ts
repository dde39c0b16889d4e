/** Lists of the step types; each one is defined in the module of its family. */

import type { JsonValue, OnFlag, PhotoBounds, Step, StepType } from "../types";
import { boolean, booleanAuthoring, choice, choiceAuthoring, multiChoice, multiChoiceAuthoring } from "./choice";
import { MAX_PHOTOS_PER_STEP } from "../bounds";
import { instruction, instructionAuthoring, photo, photoAuthoring, signature, signatureAuthoring } from "./evidence";
import type { Authoring, DisplayText, ExpectedFormat, StepKind, Verdict } from "./kind";
import { number, numberAuthoring, rating, ratingAuthoring } from "./number";
import { date, dateAuthoring, datetime, datetimeAuthoring, scanAuthoring, text, textAuthoring, time, timeAuthoring } from "./text";

const KINDS: Readonly<Record<StepType, StepKind>> = {
  boolean,
  number,
  choice,
  multi_choice: multiChoice,
  text,
  rating,
  photo,
  date,
  time,
  datetime,
  signature,
  scan: text,
  instruction,
};

/** In the order of the editor's menu. */
export const AUTHORING: Readonly<Record<StepType, Authoring>> = {
  boolean: booleanAuthoring,
  number: numberAuthoring,
  choice: choiceAuthoring,
  multi_choice: multiChoiceAuthoring,
  text: textAuthoring,
  rating: ratingAuthoring,
  photo: photoAuthoring,
  date: dateAuthoring,
  time: timeAuthoring,
  datetime: datetimeAuthoring,
  signature: signatureAuthoring,
  scan: scanAuthoring,
  instruction: instructionAuthoring,
};

/** Fallback for a type that this version of the app does not know. */
export function kindOf({ type }: { readonly type: StepType }): Partial<StepKind> {
  return KINDS[type] ?? {};
}

export function validateValue(step: Step, value: JsonValue): Verdict {
  return KINDS[step.type].validate(step, value);
}

/** Formats an answer for display: labels instead of ids, numbers with units; empty for null. */
export function displayValue(step: Step, value: JsonValue, words: DisplayText): string {
  return value === null ? "" : (kindOf(step).display?.(step, value, words) ?? String(value));
}

/** How many photos the step takes; null if none. The photos of a photo step are its answer. */
export function photoBounds(step: Step): PhotoBounds | null {
  const { photoBounds } = kindOf(step);
  return photoBounds ? photoBounds(step) : step.photo || null;
}

/** Whether a valid value is outside what the step expects. `today`: the person's calendar date. */
export function isFlagged(step: Step, value: JsonValue, today: string): boolean {
  const { expected } = step.config;
  return expected != null && value !== null && kindOf(step).isExpected?.(expected, value, today) === false;
}

/** What a flagged answer of the step must have before the submit. */
export function onFlag(step: Step): OnFlag | null {
  const { expected, on_flag } = step.config;
  return expected == null || kindOf(step).isExpected === undefined ? null : (on_flag ?? null);
}

/** Formats what the step expects; empty if it expects nothing. */
export function expectedText(step: Step, format: ExpectedFormat): string {
  const { expected } = step.config;
  return expected == null ? "" : (kindOf(step).expectedText?.(step, expected, format) ?? "");
}

/**
 * How many photos an answer of the step needs and may have; null if none. Photos that were asked for stay, even if the
 * answer is no longer flagged.
 */
export function photosFor(step: Step, answer: { readonly flagged?: boolean | null; readonly photos: { readonly length: number } } | undefined): PhotoBounds | null {
  const own = photoBounds(step);
  const asked = onFlag(step)?.photos;
  if (!asked || (!answer?.flagged && (answer?.photos.length ?? 0) <= (own?.max ?? 0))) return own;
  return { min: Math.max(own?.min ?? 0, answer?.flagged ? (asked.min ?? 0) : 0), max: Math.max(own?.max ?? 0, asked.max ?? MAX_PHOTOS_PER_STEP) };
}

/** Whether the step takes an answer; an instruction does not. */
export function takesAnswer(step: Pick<Step, "type">): boolean {
  return kindOf(step).takes !== "nothing";
}

/** Whether the uploads of the step are drawings that belong to its value. */
export function takesDrawing(step: Step | undefined): boolean {
  return step !== undefined && kindOf(step).takes === "drawing";
}
