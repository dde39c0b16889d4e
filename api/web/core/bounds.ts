/** What a step takes once its defaults are filled in: photos, grades, options, lengths. */

import type { Option, PhotoBounds, Step, Template } from "./types";

export const MAX_PHOTOS_PER_STEP = 20;
export const MAX_TEXT = 500;
export const MAX_LONG_TEXT = 4_000;
export const MAX_SCAN = 500;
export const MAX_NAME = 200;
export const MAX_EMAIL = 254;
export const MAX_REASON = 500;

/** How many photos the step takes, or null when it takes none. The photos of a photo step are its answer. */
export function photoBounds(step: Step): PhotoBounds | null {
  if (step.type === "instruction") return null;
  if (step.type !== "photo") return step.photo || null;
  const { min, max } = step.config;
  const written = min == null && max == null && step.photo ? step.photo : { min: min ?? 1, max: max ?? MAX_PHOTOS_PER_STEP };
  return { min: Math.max(1, written.min), max: written.max };
}

/** Lowest and highest grade of a rating step. */
export function ratingBounds(step: Step): { readonly min: number; readonly max: number } {
  return { min: step.config.min ?? 1, max: step.config.max ?? 5 };
}

/** Fewest and most options to choose in a multi_choice step. */
export function selectionBounds(step: Step): { readonly min: number; readonly max: number } {
  const { min_selected, max_selected } = step.config;
  return { min: min_selected ?? Number(step.required), max: max_selected ?? optionsOf(step).length };
}

export function optionsOf(step: Step): readonly Option[] {
  return step.config.options ?? [];
}

/** Most characters of a text or scan step. */
export function textLimit(step: Step): number {
  if (step.type === "scan") return MAX_SCAN;
  return step.config.multiline ? MAX_LONG_TEXT : MAX_TEXT;
}

/** Whether the person may pass the step over: only where the checklist allows it and the step is not required. */
export function maySkip(template: Template, step: Step): boolean {
  return template.settings.allow_skip && !step.required && step.type !== "instruction";
}

/** All steps, in the order in which they are done. */
export function stepsOf(template: Template): Step[] {
  return template.sections.flatMap((section) => section.steps);
}
