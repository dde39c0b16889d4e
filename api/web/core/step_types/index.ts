/** The step types: what each of them is stands in the module of its family, and here the lists of them. */

import type { JsonValue, PhotoBounds, Step, StepType } from "../types";
import { boolean, booleanAuthoring, choice, choiceAuthoring, multiChoice, multiChoiceAuthoring } from "./choice";
import { instruction, instructionAuthoring, photo, photoAuthoring, signature, signatureAuthoring } from "./evidence";
import type { Authoring, DisplayWords, StepKind, Verdict } from "./kind";
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

/** In the order in which the editor offers them. */
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

/** Of a type that came after this version of the app, what most types have. */
export function kindOf({ type }: { readonly type: StepType }): Partial<StepKind> {
  return KINDS[type] ?? {};
}

export function validateValue(step: Step, value: JsonValue): Verdict {
  return KINDS[step.type].validate(step, value);
}

/** The answer as a person would read it: labels instead of ids, numbers with their unit; empty for null. */
export function displayValue(step: Step, value: JsonValue, words: DisplayWords): string {
  return value === null ? "" : (kindOf(step).display?.(step, value, words) ?? String(value));
}

/** How many photos the step takes, or null when it takes none. The photos of a photo step are its answer. */
export function photoBounds(step: Step): PhotoBounds | null {
  const { photoBounds } = kindOf(step);
  return photoBounds ? photoBounds(step) : step.photo || null;
}

/** Whether the step takes an answer; an instruction does not. */
export function takesAnswer(step: Pick<Step, "type">): boolean {
  return kindOf(step).takes !== "nothing";
}

/** Whether what is uploaded to the step is a drawing that belongs to its value. */
export function takesDrawing(step: Step | undefined): boolean {
  return step !== undefined && kindOf(step).takes === "drawing";
}
