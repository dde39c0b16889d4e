import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { type Section, type Step, type Template } from "../../core";
import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";
import type { ServerRun } from "../store/types";
import { useSwipe } from "../swipe";
import { following, isOpen, isSingleTap, nextAction } from "../walk";
import { ExpiryNotice } from "./expiry_notice";
import { NextGap, ToReview } from "./next_action";
import { Notices } from "./notices";
import { replacesView, SkipLink } from "./screen";
import { StatusBar } from "./status_bar";
import { StepBody, textOf } from "./step_body";
import { StepNews } from "./step_news";
import { SyncNews } from "./sync_pill";

/** How long the chosen answer is shown before the next step: long enough to see a slip of the finger. */
const CONFIRM_MS = 450;
const ARROWS: ReadonlySet<string> = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);
const TYPED: ReadonlySet<string> = new Set(["text", "date", "time", "datetime-local", "radio", "checkbox"]);

interface Place {
  readonly section: Section;
  readonly step: Step;
}

/** The checklist as one question per screen. */
export function OneAtATime({ run }: { run: ServerRun }) {
  const { page } = useApp();
  const { template } = run;
  const { walk } = page;
  const current = walk.current.value;
  const places = useMemo(() => placesIn(template), [template]);
  const place = current === null ? undefined : places.get(current);
  useHeadingFocus(current);
  const primary = useRef<HTMLButtonElement>(null);
  const moves = useMoves(place?.step ?? null, primary);
  useSwipe((direction) => (direction === "forward" ? moves.forward() : moves.back()));
  const isFirst = current === walk.order.value[0];
  return (
    <>
      <SkipLink />
      <header class="top">
        <StatusBar run={run} />
      </header>
      <main id="content" class="stage" tabIndex={-1} onKeyDown={moves.onKeyDown} onPointerDown={moves.onPointerDown}>
        <div class="stage-head">
          <h1 class="about" dir="auto">
            {template.name}
          </h1>
          {isFirst && template.description && (
            <p class="prose quiet" dir="auto">
              {template.description}
            </p>
          )}
          <ExpiryNotice expiresAt={run.expires_at} />
          <Notices />
          {place && (
            <h2 class="stage-section" dir="auto">
              {place.section.title}
            </h2>
          )}
        </div>
        {place ? (
          <div key={place.step.id} class={`stage-step is-${walk.direction.peek()}${moves.isConfirming ? " is-confirming" : ""}`}>
            <StepBody step={place.step} onGiven={moves.onGiven} onSkipped={moves.follow} />
          </div>
        ) : (
          <p class="quiet">{t("checklist.nothing_applies")}</p>
        )}
      </main>
      <MoveBar run={run} step={place?.step ?? null} moves={moves} primary={primary} />
      <StepNews template={template} />
      <SyncNews />
    </>
  );
}

function placesIn(template: Template): ReadonlyMap<string, Place> {
  return new Map(template.sections.flatMap((section) => section.steps.map((step) => [step.id, { section, step }] as const)));
}

/** Focuses the question of each new step, so that it is announced; not of the first one after the page was opened. */
function useHeadingFocus(current: string | null): void {
  const isMounted = useRef(false);
  useLayoutEffect(() => {
    const moved = isMounted.current || replacesView();
    isMounted.current = true;
    if (!moved) return;
    window.scrollTo(0, 0);
    document.getElementById(`${current}-label`)?.focus({ preventScroll: true });
  }, [current]);
}

interface Moves {
  /** Whether the answer is shown for a moment, before the next step. */
  readonly isConfirming: boolean;
  forward(): void;
  back(): void;
  /** Goes to the step that follows the completed one. */
  follow(): void;
  onGiven(isFirst: boolean): void;
  onKeyDown(event: KeyboardEvent): void;
  onPointerDown(): void;
}

function useMoves(step: Step | null, primary: { readonly current: HTMLButtonElement | null }): Moves {
  const { page } = useApp();
  const { walk } = page;
  const timer = useRef(0);
  const confirming = useSignal(false);
  /** Arrow keys choose each option on their way, so they must not leave the step. */
  const byArrow = useRef(false);

  const cancel = () => {
    window.clearTimeout(timer.current);
    confirming.value = false;
  };
  useEffect(() => cancel, [step?.id]);

  const follow = () => {
    cancel();
    const current = walk.current.peek();
    if (current === null || document.querySelector("dialog[open]") !== null) return;
    const target = following(walk.order.peek(), current, page.gaps.peek(), page.reviewed.peek());
    if (target !== null) walk.go(target);
  };
  const forward = async () => {
    cancel();
    // Ends the typing, where a tap on a button does not: the text is checked and stored before the step is left.
    primary.current?.focus({ preventScroll: true });
    const heldInput = () => (step === null ? undefined : page.held.peek().get(step.id));
    // A corrected answer replaces the rejected one once it is stored.
    if (step !== null && heldInput() !== undefined) await page.settled(step.id);
    const held = heldInput();
    if (held !== undefined) page.announce(textOf(held.problem));
    else if (step === null || walk.current.peek() === step.id) walk.next();
  };
  return {
    isConfirming: confirming.value,
    forward: () => void forward(),
    back() {
      cancel();
      walk.previous();
    },
    follow,
    onGiven(isFirst) {
      cancel();
      if (step === null || !isFirst || byArrow.current || !isSingleTap(step)) return;
      confirming.value = true;
      timer.current = window.setTimeout(follow, CONFIRM_MS);
    },
    onKeyDown(event) {
      byArrow.current = ARROWS.has(event.key);
      const { target } = event;
      if (event.key !== "Enter" || event.isComposing || !(target instanceof HTMLInputElement) || !TYPED.has(target.type)) return;
      if (target.closest("dialog") === null) void forward();
    },
    onPointerDown() {
      byArrow.current = false;
    },
  };
}

interface MoveBarProps {
  run: ServerRun;
  step: Step | null;
  moves: Moves;
  primary: { current: HTMLButtonElement | null };
}

/** Back, and the primary action: the next step, the next gap, or the review. */
function MoveBar({ run, step, moves, primary }: MoveBarProps) {
  const { store, page } = useApp();
  const { current, order } = page.walk;
  const action = useComputed(() => nextAction(order.value, current.value, page.gaps.value, page.reviewed.value)).value;
  const open = step !== null && isOpen(step, store.answers.value.get(step.id));
  const [first, last] = [order.value[0], order.value[order.value.length - 1]];
  return (
    <div class="next-bar">
      <div class="next-row move-row">
        <button type="button" class="button button-icon" aria-label={t("checklist.previous")} disabled={current.value === first} onClick={moves.back}>
          <Icon name="back" />
        </button>
        {action === "gap" && <NextGap run={run} />}
        {action === "review" && <ToReview />}
        {action === "next" && (
          <button ref={primary} type="button" class={open ? "button button-wide" : "button button-primary button-wide"} onClick={moves.forward}>
            {t("checklist.next")}
            <Icon name="forward" />
          </button>
        )}
        {action !== "next" && current.value !== last && (
          <button ref={primary} type="button" class="button button-icon" aria-label={t("checklist.next")} onClick={moves.forward}>
            <Icon name="forward" />
          </button>
        )}
      </div>
    </div>
  );
}
