/**
 * Focus and scroll position on navigation: the heading of a new page gets the focus; going back restores the scroll
 * position and the focus on the link that was followed.
 */
import { arrival, type Arrival } from "./router";

const TIMEOUT_MS = 4_000;
const USER_EVENTS = ["wheel", "touchstart", "keydown", "pointerdown"] as const;
let handled: Arrival | null = null;
let focused: HTMLElement | null = null;

/**
 * Called by the heading when it is mounted. Does nothing on the first page, or after the person has interacted with the
 * page.
 */
export function arriveAt(heading: HTMLElement): void {
  const now = arrival.peek();
  const { activeElement } = document;
  if (now === handled) {
    // The heading shown while data was loading had the focus and has been replaced.
    const lost = focused !== null && !focused.isConnected && (activeElement === null || activeElement === document.body);
    if (lost) focusOn(heading);
    return;
  }
  handled = now;
  focused = null;
  const moved = activeElement !== null && activeElement !== document.body && activeElement !== now.from;
  if (now.how === "link" && !moved) focusOn(heading);
  // A reload restores the scroll position, too.
  if (now.how !== "link" && (now.visit.top ?? 0) + (now.visit.followed ? 1 : 0) > 0) restorePosition(now, heading);
  else if (now.how === "history" && !moved) focusOn(heading);
}

/** Pages grow as their data arrives: retries until the page is high enough or the person interacts with it. */
function restorePosition({ visit, how }: Arrival, heading: HTMLElement): void {
  const until = performance.now() + TIMEOUT_MS;
  const stop = new AbortController();
  for (const sign of USER_EVENTS) addEventListener(sign, () => stop.abort(), { signal: stop.signal, passive: true });
  const started = arrival.peek();
  if (how === "history") focusOn(heading);
  const attempt = () => {
    if (stop.signal.aborted || arrival.peek() !== started) return stop.abort();
    const top = visit.top ?? 0;
    if (Math.abs(scrollY - top) > 1) scrollTo({ top, behavior: "instant" });
    const link = how === "history" && visit.followed !== undefined ? linkTo(visit.followed) : null;
    link?.focus({ preventScroll: true });
    const there = Math.abs(scrollY - top) <= 1 && (link !== null || how !== "history" || visit.followed === undefined);
    if (there || performance.now() > until) return stop.abort();
    requestAnimationFrame(attempt);
  };
  attempt();
}

function focusOn(heading: HTMLElement): void {
  focused = heading;
  heading.focus({ preventScroll: true });
}

function linkTo(address: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`main a[href="${CSS.escape(address)}"]`);
}
