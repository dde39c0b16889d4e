/**
 * The state of the page itself, as opposed to the run's: which steps are drawn already, what was typed and cannot be
 * kept, what is to be read out. Nothing of it outlives the page.
 */
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";

import type { JsonValue, Problem } from "../core";
import type { RunStore } from "./store/types";

/** So many steps are drawn at once; the rest follow when the page is at rest, so that a long checklist starts fast. */
const FIRST = 6;
const MORE = 40;
/** How long a step that was asked for may take until it is drawn, e.g. because another view has to go first. */
const FRAMES_TO_APPEAR = 60;

/** What was given for a step and cannot be kept, and why. */
export interface Held {
  readonly value: JsonValue;
  readonly problem: Problem;
}

export interface Page {
  /** How many steps are drawn, in their order. */
  readonly drawn: ReadonlySignal<number>;
  /** Steps whose answer on screen is not kept, because it cannot be one. It outlives their cards: the review comes and goes. */
  readonly held: ReadonlySignal<ReadonlyMap<string, Held>>;
  /** The name that is typed in the review, for when the person comes back to it. */
  readonly signer: Signal<string>;
  /** What stands between the person and the end: required steps that are missing, and answers that cannot be kept. */
  readonly gaps: ReadonlySignal<readonly string[]>;
  /** Whether the person has tried to submit: from then on, gaps are told as errors. */
  readonly tried: ReadonlySignal<boolean>;
  /** What is read out next, politely. */
  readonly announcement: ReadonlySignal<string>;
  hold(stepId: string, held: Held | null): void;
  setTried(tried: boolean): void;
  announce(text: string): void;
  /** Draws all steps in the background, and calls a function to stop that. */
  drawAll(total: number): () => void;
  /** Shows the step and puts the focus on its label, as soon as it is there. The person has asked for it. */
  jump(stepId: string): void;
}

export function createPage(store: RunStore): Page {
  const drawn = signal(FIRST);
  const held = signal<ReadonlyMap<string, Held>>(new Map());
  const tried = signal(false);
  const announcement = signal("");
  const order = computed(() => (store.run.value?.template.sections ?? []).flatMap((section) => section.steps.map((step) => step.id)));
  const gaps = computed(() => {
    const missing = store.missing.value;
    if (held.value.size === 0) return missing;
    const open = new Set([...missing, ...[...held.value.keys()].filter((id) => store.applicable.value.has(id))]);
    return order.value.filter((id) => open.has(id));
  });

  return {
    drawn,
    held,
    signer: signal(store.run.peek()?.signature?.name ?? ""),
    gaps,
    tried,
    announcement,
    hold(stepId, next) {
      if (next === null && !held.peek().has(stepId)) return;
      const all = new Map(held.peek());
      if (next === null) all.delete(stepId);
      else all.set(stepId, next);
      held.value = all;
    },
    setTried(value) {
      tried.value = value;
    },
    announce(text) {
      // A text that is the same as before would not be read again: an invisible difference makes it another one.
      announcement.value = text === announcement.peek() ? `${text}\u00a0` : text;
    },
    drawAll(total) {
      const rest = window.requestIdleCallback ?? ((run: () => void) => window.setTimeout(run, 16));
      let stopped = false;
      const step = () => {
        if (stopped || drawn.peek() >= total) return;
        drawn.value += MORE;
        rest(step);
      };
      rest(step);
      return () => {
        stopped = true;
      };
    },
    jump(stepId) {
      drawn.value = Number.POSITIVE_INFINITY;
      const attempt = (frames: number) => {
        if (scrollTo(stepId) === null) {
          if (frames > 0) requestAnimationFrame(() => attempt(frames - 1));
          return;
        }
        // The first scroll lets the browser lay out what lay beyond the screen; the second finds the true place.
        requestAnimationFrame(() => scrollTo(stepId)?.focus({ preventScroll: true }));
      };
      requestAnimationFrame(() => attempt(FRAMES_TO_APPEAR));
    },
  };
}

function scrollTo(stepId: string): HTMLElement | null {
  const label = document.getElementById(`${stepId}-label`);
  (label?.closest(".step") ?? label)?.scrollIntoView({ block: "start", behavior: "instant" });
  return label;
}

/** The gap after `current` in the order of the checklist, or the first one when there is none after it. */
export function nextGap(gaps: readonly string[], order: readonly string[], current: string | null): string | null {
  const position = current === null ? -1 : order.indexOf(current);
  return gaps.find((id) => order.indexOf(id) > position) ?? gaps[0] ?? null;
}
