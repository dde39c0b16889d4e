/**
 * Evaluates which steps apply, which are answered and which are missing, with the same results as the service.
 *
 * - A step *has a value* if its answer can be compared: a value, at least one photo for a photo step, visible text for
 *   text and scan.
 * - A step *is answered* if it has a value, the required number of photos, and a location where that is required; if
 *   the answer is outside what is expected, also with the note and photos that are asked for then.
 * - A step *applies* if its condition holds. Conditions compare values only, so that a follow-up question appears at
 *   once and does not wait for photos.
 *
 * Conditions refer to earlier steps only, so one pass in order is enough.
 */

import { kindOf, onFlag, photoBounds, takesAnswer } from "./step_types";
import { hasVisibleText } from "./text";
import type { AnswerLike, Comparison, JsonValue, Problem, Progress, Scalar, Step, Template, When } from "./types";

export type Answers = ReadonlyMap<string, AnswerLike>;

export interface Evaluation {
  /** Ids of the steps whose condition holds now, including instructions. */
  readonly applicable: ReadonlySet<string>;
  /** Counts of the steps that apply now and take an answer; a skipped step is not answered. */
  readonly progress: Progress;
  /** Ids of the steps that block completion, in order. */
  readonly missing: readonly string[];
}

/** Evaluates a run with these answers. */
export function evaluate(template: Template, answers: Answers, skipped: ReadonlySet<string>): Evaluation {
  const applicable = new Map<string, Step>();
  const missing: string[] = [];
  const progress = { total: 0, answered: 0, skipped: 0 };

  function holds(part: When): boolean {
    if ("all" in part && part.all) return part.all.every(holds);
    if ("any" in part && part.any) return part.any.some(holds);
    const { step, op, value } = part;
    return step !== undefined && op !== undefined && value !== undefined && compares({ step, op, value });
  }

  function compares(part: Comparison): boolean {
    const source = applicable.get(part.step);
    const answer = answers.get(part.step);
    const known = source !== undefined && answer !== undefined && !skipped.has(part.step) && hasValue(source, answer);
    if (part.op === "exists") return known === part.value;
    return known && satisfies(source, part, answer.value);
  }

  for (const step of stepsOf(template)) {
    if (step.condition && !holds(step.condition.when)) continue;
    applicable.set(step.id, step);
    if (!takesAnswer(step)) continue;
    const isSkipped = skipped.has(step.id);
    const answer = answers.get(step.id);
    const answered = !isSkipped && isAnswered(step, answer);
    progress.total += 1;
    progress.skipped += Number(isSkipped);
    progress.answered += Number(answered);
    if ((step.required && !answered) || (!isSkipped && flagGap(step, answer) !== null)) missing.push(step.id);
  }
  return { applicable: new Set(applicable.keys()), progress, missing };
}

/** Whether conditions can compare the answer. */
export function hasValue(step: Step, answer: AnswerLike): boolean {
  return kindOf(step).hasValue?.(answer) ?? answer.value !== null;
}

/** Whether the answer is complete: a value, the required photos, and a location where required. */
export function isAnswered(step: Step, answer: AnswerLike | undefined): boolean {
  return gapOf(step, answer) === null;
}

/** The first part that an answer lacks; null if it is complete. */
export function gapOf(step: Step, answer: AnswerLike | undefined): Problem | null {
  const photos = answer?.photos.length ?? 0;
  const lacking = (photoBounds(step)?.min ?? 0) - photos;
  const noPhotos: Problem = { path: "photo", code: "too_few", params: { count: lacking } };
  if (answer === undefined || !hasValue(step, answer)) {
    return kindOf(step).takes === "photos" ? noPhotos : { path: "value", code: "required" };
  }
  if (lacking > 0) return noPhotos;
  if (step.geo_required && answer.geo == null) return { path: "geo", code: "geo_required" };
  return flagGap(step, answer);
}

/** What a flagged answer lacks of what the step asks for then. */
export function flagGap(step: Step, answer: AnswerLike | undefined): Problem | null {
  const asked = onFlag(step);
  if (asked === null || !answer?.flagged) return null;
  if (asked.note && !hasVisibleText(answer.note ?? "")) return { path: "note", code: "note_required" };
  const lacking = (asked.photos?.min ?? 0) - answer.photos.length;
  return lacking > 0 ? { path: "photo", code: "too_few", params: { count: lacking } } : null;
}

/** Whether the step can be skipped: the checklist allows it and the step is not required. */
export function canSkip(template: Template, step: Step): boolean {
  return template.settings.allow_skip && !step.required && takesAnswer(step);
}

/** All steps, in order. */
export function stepsOf(template: Template): Step[] {
  return template.sections.flatMap((section) => section.steps);
}

function satisfies(source: Step, { op, value: wanted }: Comparison, given: JsonValue): boolean {
  switch (op) {
    case "in":
    case "not_in":
      return Array.isArray(wanted) && wanted.some((item) => order(source, given, item) === 0) === (op === "in");
    case "contains":
    case "not_contains": {
      // Membership for options, substring (case-sensitive) for text.
      if (typeof wanted !== "string" || !(typeof given === "string" || Array.isArray(given))) return false;
      return given.includes(wanted) === (op === "contains");
    }
    default: {
      const result = order(source, given, wanted);
      return result !== null && (ORDERS[op]?.(result) ?? false);
    }
  }
}

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

/** -1, 0 or 1 as `given` is less than, equal to or greater than `wanted`; null if they cannot be compared. */
function order(source: Step, given: unknown, wanted: unknown): number | null {
  const { sortKey = plainKey } = kindOf(source);
  const [left, right] = [sortKey(given), sortKey(wanted)];
  if (left === null || right === null || typeof left !== typeof right) return null;
  return Number(left > right) - Number(left < right);
}

function plainKey(value: unknown): Scalar | null {
  return typeof value === "string" || typeof value === "number" ? value : null;
}
