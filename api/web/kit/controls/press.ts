/**
 * A press: from the pointer going down to the end of the click that it causes. What a press changes in the page is shown
 * after it: a line that appears when a field loses the focus would move the page under the finger, and the click would
 * miss its target.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Maximum wait for the click after the pointer was released; there is none after a long press. */
const CLICK_MS = 400;

let isPressed = false;
let timer = 0;
const waiting = new Set<() => void>();

function end(): void {
  window.clearTimeout(timer);
  isPressed = false;
  for (const follow of [...waiting]) follow();
}

const endIn = (milliseconds: number): void => {
  window.clearTimeout(timer);
  timer = window.setTimeout(end, milliseconds);
};

function watch(): void {
  const listen = (type: keyof DocumentEventMap, listener: (event: Event) => void) => document.addEventListener(type, listener, true);
  listen("pointerdown", () => {
    window.clearTimeout(timer);
    isPressed = true;
  });
  listen("pointerup", () => isPressed && endIn(CLICK_MS));
  listen("pointercancel", () => isPressed && end());
  // The handlers of the click come first.
  listen("click", () => isPressed && endIn(0));
  // A list of options may have taken the release of the pointer.
  listen("change", () => isPressed && endIn(0));
  listen("pointermove", (event) => isPressed && event instanceof PointerEvent && event.buttons === 0 && endIn(CLICK_MS));
}

if (typeof document === "object") watch();

/** `value`, or during a press the one from before it. */
export function useAfterPress<Value>(value: Value): Value {
  const shown = useRef(value);
  const [, setTurn] = useState(0);
  const waits = isPressed;
  if (!waits) shown.current = value;
  useLayoutEffect(() => {
    if (!waits) return;
    const follow = () => setTurn((turn) => turn + 1);
    if (!isPressed) return follow();
    waiting.add(follow);
    return () => void waiting.delete(follow);
  });
  return shown.current;
}
