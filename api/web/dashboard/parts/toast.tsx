/** Result messages in a corner, announced without moving the focus: `toast("The key is revoked.")`. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const SHOWN_MS = 8_000;
const AT_MOST = 3;
const shown = signal<readonly Toast[]>([]);
let last = 0;

/** Errors stay until they are dismissed; success messages disappear. */
export function toast(text: string, tone: Toast["tone"] = "good"): void {
  last += 1;
  shown.value = [...shown.peek(), { id: last, text, tone }].slice(-AT_MOST);
}

function dismiss(id: number): void {
  shown.value = shown.peek().filter((one) => one.id !== id);
}

/** Rendered once, in the frame. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((one) => (
        <ToastCard key={one.id} toast={one} />
      ))}
    </div>
  );
}

function ToastCard({ toast: { id, text, tone } }: { toast: Toast }) {
  const held = useRef(false);
  useEffect(() => {
    if (tone === "bad") return;
    let timer = setTimeout(end, SHOWN_MS);
    function end() {
      if (held.current) timer = setTimeout(end, SHOWN_MS);
      else dismiss(id);
    }
    return () => clearTimeout(timer);
  }, [id, tone]);
  const hold = () => (held.current = true);
  const release = () => (held.current = false);
  return (
    <div class={`toast message is-${tone}`} onMouseEnter={hold} onMouseLeave={release} onFocusIn={hold} onFocusOut={release}>
      <Icon name={tone === "good" ? "check-circle" : "alert"} />
      <p>{text}</p>
      <button type="button" class="button button-quiet button-icon" aria-label="Dismiss" onClick={() => dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
