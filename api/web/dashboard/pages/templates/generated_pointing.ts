/** The prompt and the steps of a generated template point at each other. */
import type { StepOrigin } from "../../../core";

export const NONE: readonly string[] = [];

/** What the person points at, by steps' ids: hovered with a mouse, or focused. */
export interface Pointing {
  hover(steps: readonly string[]): void;
  focus(steps: readonly string[]): void;
}

/** What both sides need. */
export interface SideProps {
  origins: ReadonlyMap<string, StepOrigin>;
  /** Ids of the steps that are marked, with their words. */
  lit: ReadonlySet<string>;
  pointing: Pointing;
}

/** A finger hovers over nothing: it gives the focus. */
export function whilePointed(pointing: Pointing, steps: readonly string[]) {
  return {
    onPointerEnter: (event: PointerEvent) => event.pointerType !== "touch" && pointing.hover(steps),
    onPointerLeave: () => pointing.hover(NONE),
    onFocusIn: () => pointing.focus(steps),
    onFocusOut: () => pointing.focus(NONE),
  };
}

export const stepAnchor = (stepId: string) => `review-${stepId}`;
export const pieceAnchor = (index: number) => `piece-${index}`;

export function goTo(id: string): void {
  const element = document.getElementById(id);
  element?.focus({ preventScroll: true });
  element?.closest("li")?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** The first words of a step get the focus; where the prompt is closed, the step itself stays marked. */
export function showPiece(stepId: string, pointing: Pointing): void {
  const piece = document.querySelector<HTMLElement>(`[data-piece-of~="${CSS.escape(stepId)}"]`);
  piece?.focus({ preventScroll: true });
  if (document.activeElement !== piece) pointing.focus([stepId]);
}

/** Scrolls the box alone, never the page. */
export function showWithin(box: HTMLElement | null, element: Element | null | undefined): void {
  if (box === null || !element) return;
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
}
