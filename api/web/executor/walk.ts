/**
 * The way through a checklist, one step at a time: the order of the steps that apply, the step on the screen, and the
 * moves between them.
 */
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";

import { isAnswered, type Step, stepsOf, takesAnswer } from "../core";
import { keepOwnLayout, type KeptPlace, type Layout, NO_PLACE, ownLayout } from "./layout";
import { withoutRefused } from "./store/refused_photos";
import type { LocalAnswer, RunStore } from "./store/types";

/**
 * Maximum number of history entries for earlier steps. Browsers keep about 50 entries in total, and the entries of the
 * page must not displace those of the pages before it.
 */
const DEPTH = 12;

export type Direction = "forward" | "back";

export interface Walk {
  readonly layout: ReadonlySignal<Layout>;
  /** Ids of the steps that apply, in order. */
  readonly order: ReadonlySignal<readonly string[]>;
  /** The step on the screen; null if no step applies. */
  readonly current: ReadonlySignal<string | null>;
  /** The direction of the last move. */
  readonly direction: ReadonlySignal<Direction>;
  /** The number of history entries: how often the browser's Back leads to the previous step. */
  readonly depth: ReadonlySignal<number>;
  setLayout(layout: Layout): void;
  /** Shows the step. */
  go(stepId: string): void;
  /** Shows the next step; false on the last one. */
  next(): boolean;
  /** Shows the previous step; false on the first one. */
  previous(): boolean;
  /** Follows the browser's Back to an entry of the history. */
  backTo(depth: number): void;
}

export function createWalk(store: RunStore, kept: KeptPlace = NO_PLACE): Walk {
  const own = signal(ownLayout());
  const chosen = signal<string | null>(kept.read());
  const direction = signal<Direction>("forward");
  const depth = signal(0);
  const steps = computed(() => (store.run.value === null ? [] : stepsOf(store.run.value.template)));
  const order = computed(() => steps.value.filter((step) => store.applicable.value.has(step.id)).map((step) => step.id));
  const layout = computed<Layout>(() => own.value ?? store.run.value?.template.settings.layout ?? "list");
  const current = computed(() => placeOf(chosen.value, steps.value.map((step) => step.id), order.value));
  // The first step is chosen once: answers must not move the person.
  effect(() => {
    if (chosen.value === null && order.value.length > 0) chosen.value = firstOpen(steps.value, order.value, store.answers.peek());
  });

  const positionOf = (stepId: string | null) => (stepId === null ? -1 : order.peek().indexOf(stepId));
  const show = (position: number): boolean => {
    const target = order.peek()[position];
    if (target === undefined) return false;
    direction.value = position < positionOf(current.peek()) ? "back" : "forward";
    chosen.value = target;
    kept.write(target);
    return true;
  };
  const move = (by: 1 | -1): boolean => {
    const position = positionOf(current.peek()) + by;
    if (!show(position)) return false;
    depth.value = by === 1 ? Math.min(position, DEPTH) : Math.min(depth.peek(), position);
    return true;
  };
  return {
    layout,
    order,
    current,
    direction,
    depth: computed(() => (layout.value === "list" ? 0 : depth.value)),
    setLayout(next) {
      keepOwnLayout(next);
      own.value = next;
    },
    go(stepId) {
      const position = positionOf(stepId);
      if (show(position)) depth.value = Math.min(position, DEPTH);
    },
    next: () => move(1),
    previous: () => move(-1),
    backTo(target) {
      const entries = depth.peek() - target;
      if (entries <= 0) return;
      depth.value = target;
      show(Math.max(0, positionOf(current.peek()) - entries));
    },
  };
}

/** The step to show: `chosen`, or if it does not apply, the next one that does, or else the last one. */
export function placeOf(chosen: string | null, all: readonly string[], order: readonly string[]): string | null {
  if (chosen !== null && order.includes(chosen)) return chosen;
  const applies = new Set(order);
  const after = chosen === null ? all : all.slice(all.indexOf(chosen) + 1);
  return after.find((id) => applies.has(id)) ?? order[order.length - 1] ?? null;
}

/** The first step without an answer, with the instructions directly before it; else the last step. */
export function firstOpen(all: readonly Step[], order: readonly string[], answers: ReadonlyMap<string, LocalAnswer>): string | null {
  const applying = all.filter((step) => order.includes(step.id));
  let position = applying.findIndex((step) => isOpen(step, answers.get(step.id)));
  if (position < 0) position = applying.length - 1;
  while (position > 0 && !takesAnswer(applying[position - 1] as Step)) position -= 1;
  return applying[position]?.id ?? null;
}

/** Whether the step takes an answer and has neither a complete one nor a skip. Refused photos do not count. */
export function isOpen(step: Step, answer: LocalAnswer | undefined): boolean {
  return takesAnswer(step) && answer?.skipped !== true && !isAnswered(step, answer && withoutRefused(answer));
}

const SINGLE_TAP: ReadonlySet<Step["type"]> = new Set(["boolean", "choice", "rating"]);

/** Whether one tap completes the step: a single choice, and neither photos nor a location to add. */
export function isSingleTap(step: Step): boolean {
  return SINGLE_TAP.has(step.type) && !step.photo && !step.geo;
}

/**
 * The step that follows a completed one: the next in order, or once the answers were reviewed, the next one that blocks
 * the submit. null: stay.
 */
export function following(order: readonly string[], current: string, gaps: readonly string[], reviewed: boolean): string | null {
  const later = order.slice(order.indexOf(current) + 1);
  if (!reviewed) return later[0] ?? null;
  const blocking = gaps.filter((id) => id !== current);
  return later.find((id) => blocking.includes(id)) ?? blocking[0] ?? null;
}

export type NextAction = "next" | "gap" | "review";

/** The primary action: move on; on the last step, or once the answers were reviewed, to the gaps or the review. */
export function nextAction(order: readonly string[], current: string | null, gaps: readonly string[], reviewed: boolean): NextAction {
  const isLast = current === null || order[order.length - 1] === current;
  if (!isLast && !reviewed) return "next";
  return gaps.length > 0 ? "gap" : "review";
}
