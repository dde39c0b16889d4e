/** Links between the prompt and the steps of a generated template: hover and focus highlight both. */
import type { StepOrigin } from "../../../core";

export const NONE: readonly string[] = [];

/** Ids of the steps that are hovered or focused. */
export interface Pointing {
  hover(steps: readonly string[]): void;
  focus(steps: readonly string[]): void;
}

/** Props of both sides. */
export interface SideProps {
  origins: ReadonlyMap<string, StepOrigin>;
  /** Ids of the highlighted steps. */
  lit: ReadonlySet<string>;
  pointing: Pointing;
}

/** Touch has no hover: it moves the focus. */
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

/**
 * Focuses the first part of the prompt that belongs to a step; if the prompt is collapsed, the step stays highlighted.
 */
export function showPiece(stepId: string, pointing: Pointing): void {
  const piece = document.querySelector<HTMLElement>(`[data-piece-of~="${CSS.escape(stepId)}"]`);
  piece?.focus({ preventScroll: true });
  if (document.activeElement !== piece) pointing.focus([stepId]);
}

/** Scrolls the box, not the page. */
export function showWithin(box: HTMLElement | null, element: Element | null | undefined): void {
  if (box === null || !element) return;
  const [outer, inner] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
  if (inner.top < outer.top) box.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) box.scrollTop += Math.min(inner.bottom - outer.bottom, inner.top - outer.top);
}
