/** Horizontal swipes with one finger. Every swipe has a button that does the same. */
import { useEffect, useRef } from "preact/hooks";

export interface Touched {
  readonly x: number;
  readonly y: number;
  /** In milliseconds. */
  readonly at: number;
}

const MIN_DISTANCE = 56;
const MAX_MS = 800;
/** The browser's own gestures begin at the edges of the screen. */
const EDGE = 20;
/** Elements with a meaning of their own for a horizontal movement. */
const OWN_MEANING = "canvas, input[type=range], input[type=text], textarea, dialog, video";

/** Where the swipe leads: towards the end of the line is `back`, so right-to-left text mirrors it. null: no swipe. */
export function swipeOf(from: Touched, to: Touched, isRightToLeft: boolean): "forward" | "back" | null {
  const [across, down] = [to.x - from.x, to.y - from.y];
  if (Math.abs(across) < MIN_DISTANCE || Math.abs(across) < 2 * Math.abs(down) || to.at - from.at > MAX_MS) return null;
  return across > 0 === isRightToLeft ? "forward" : "back";
}

export function startsAtEdge({ x }: Touched, width: number): boolean {
  return x < EDGE || x > width - EDGE;
}

/** Calls the function for each swipe on the page. */
export function useSwipe(onSwipe: (direction: "forward" | "back") => void): void {
  const newest = useRef(onSwipe);
  newest.current = onSwipe;
  useEffect(() => {
    let start: Touched | null = null;
    const onStart = (event: TouchEvent) => {
      const [touch, second] = event.touches;
      const target = event.target instanceof Element ? event.target.closest(OWN_MEANING) : null;
      const from = touch && { x: touch.clientX, y: touch.clientY, at: event.timeStamp };
      start = from === undefined || second !== undefined || target !== null || startsAtEdge(from, innerWidth) ? null : from;
    };
    const onEnd = (event: TouchEvent) => {
      const touch = event.changedTouches[0];
      const from = start;
      start = null;
      if (from === null || touch === undefined) return;
      const direction = swipeOf(from, { x: touch.clientX, y: touch.clientY, at: event.timeStamp }, document.dir === "rtl");
      if (direction !== null) newest.current(direction);
    };
    const onCancel = () => (start = null);
    document.addEventListener("touchstart", onStart, { passive: true });
    document.addEventListener("touchend", onEnd, { passive: true });
    document.addEventListener("touchcancel", onCancel);
    return () => {
      document.removeEventListener("touchstart", onStart);
      document.removeEventListener("touchend", onEnd);
      document.removeEventListener("touchcancel", onCancel);
    };
  }, []);
}
