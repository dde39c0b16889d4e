/**
 * The state of the page, as opposed to the run's: rendered steps, rejected input, announcements. All but the input is
 * lost on reload.
 */
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";

import type { JsonValue, Problem } from "../core";
import { whenIdle } from "../kit/idle";
import { type KeptInput, NOT_KEPT } from "./kept_input";
import type { KeptPlace } from "./layout";
import type { RunStore } from "./store/types";
import { createWalk, type Walk } from "./walk";

/** Steps rendered at once; the rest follow in idle time, so that a long checklist starts fast. */
const FIRST = 4;
const MORE = 40;
/** Maximum wait until a requested step is rendered, e.g. because another view is replaced first. */
const FRAMES_TO_APPEAR = 60;

/** Rejected input of a step, with its problem. */
export interface Held {
  readonly value: JsonValue;
  readonly problem: Problem;
}

export interface Page {
  /** The number of rendered steps, in order. */
  readonly drawn: ReadonlySignal<number>;
  /** Steps with rejected input. Kept outside their cards, which are unmounted during the review. */
  readonly held: ReadonlySignal<ReadonlyMap<string, Held>>;
  /** The name typed in the review, restored when the review is opened again. */
  readonly signer: Signal<string>;
  /** Steps that block the submit: missing required steps, and rejected input. */
  readonly gaps: ReadonlySignal<readonly string[]>;
  /** Whether the person has tried to submit: from then on, missing steps are shown as errors. */
  readonly tried: ReadonlySignal<boolean>;
  /** Whether the review was open: from then on, the checklist leads back to it. */
  readonly reviewed: ReadonlySignal<boolean>;
  /** The layout, and the way through the checklist one step at a time. */
  readonly walk: Walk;
  /** The next announcement for screen readers (polite). */
  readonly announcement: ReadonlySignal<string>;
  hold(stepId: string, held: Held | null): void;
  /** Remembers that an answer of the step is being stored; returns the same promise. */
  track(stepId: string, write: Promise<boolean>): Promise<boolean>;
  /** Resolves when the newest answer of the step is stored, or could not be. */
  settled(stepId: string): Promise<unknown>;
  setTried(tried: boolean): void;
  setReviewed(): void;
  announce(text: string): void;
  /** Renders all steps in idle time; returns a function that stops it. */
  drawAll(total: number): () => void;
  /** Shows the step: scrolls to it and focuses its label, or its field, as soon as it is rendered. */
  goTo(stepId: string, focus?: "label" | "field"): void;
}

export function createPage(store: RunStore, kept: KeptInput = NOT_KEPT, place?: KeptPlace): Page {
  const drawn = signal(FIRST);
  const held = signal<ReadonlyMap<string, Held>>(kept.read());
  const tried = signal(false);
  const reviewed = signal(false);
  const walk = createWalk(store, place);
  const announcement = signal("");
  const writes = new Map<string, Promise<boolean>>();
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
    reviewed,
    walk,
    announcement,
    hold(stepId, next) {
      if (next === null && !held.peek().has(stepId)) return;
      const all = new Map(held.peek());
      if (next === null) all.delete(stepId);
      else all.set(stepId, next);
      held.value = all;
      kept.write(all);
    },
    track(stepId, write) {
      writes.set(stepId, write);
      return write;
    },
    settled: async (stepId) => writes.get(stepId),
    setTried(value) {
      tried.value = value;
    },
    setReviewed() {
      reviewed.value = true;
    },
    announce(text) {
      // A repeated text would not be announced again: an invisible character makes it different.
      announcement.value = text === announcement.peek() ? `${text}\u00a0` : text;
    },
    drawAll(total) {
      let stopped = false;
      const step = () => {
        if (stopped || drawn.peek() >= total) return;
        drawn.value += MORE;
        whenIdle(step);
      };
      whenIdle(step);
      return () => {
        stopped = true;
      };
    },
    goTo(stepId, focus = "label") {
      drawn.value = Number.POSITIVE_INFINITY;
      walk.go(stepId);
      const attempt = (frames: number) => {
        if (scrollTo(stepId) === null) {
          if (frames > 0) requestAnimationFrame(() => attempt(frames - 1));
          return;
        }
        // The first scroll makes the browser lay out off-screen content; the second finds the final position.
        requestAnimationFrame(() => {
          const label = scrollTo(stepId);
          const field = focus === "field" ? fieldOf(label?.closest(".step") ?? null) : null;
          (field ?? label)?.focus({ preventScroll: true });
        });
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

/** The field of the step's answer that is wrong, else its first field, else its first button. */
export function fieldOf(card: Element | null): HTMLElement | null {
  const answer = card?.querySelector(".step-answer");
  const kinds = [":is(input, textarea)[aria-invalid=true]", "input:not([hidden], [type=file]), textarea, select", "button"];
  return kinds.map((kind) => answer?.querySelector<HTMLElement>(kind)).find((field) => field) ?? null;
}

/** The next blocking step after `current` in the order of the checklist, or else the first one. */
export function nextGap(gaps: readonly string[], order: readonly string[], current: string | null): string | null {
  const position = current === null ? -1 : order.indexOf(current);
  return gaps.find((id) => order.indexOf(id) > position) ?? gaps[0] ?? null;
}
