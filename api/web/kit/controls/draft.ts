import { useEffect, useRef, useState } from "preact/hooks";

/** How long after the last key a text is kept: short enough that nothing is lost, long enough not to keep each letter. */
const PAUSE_MS = 300;

interface Draft {
  text: string;
  /** Whether what is shown is newer than what is kept. */
  dirty: boolean;
  input(text: string): void;
  flush(): void;
}

/**
 * Text between the keyboard and what is kept. It is handed to `keep` after a pause, on leaving the field, and when the
 * page is hidden, which on a phone may be the last thing that happens to it.
 *
 * A kept text that changes from outside (another device, "clear") is taken over, but never while the person types, and
 * never while an own change is still on its way, because then the older one would overwrite the newer.
 */
export function useDraft(kept: string, keep: (text: string) => Promise<void> | void, same = equal): Draft {
  const [text, setText] = useState(kept);
  const state = useRef({ text: kept, dirty: false, onTheWay: 0, timer: 0, keep });
  state.current.keep = keep;

  const flush = () => {
    const now = state.current;
    window.clearTimeout(now.timer);
    if (!now.dirty) return;
    now.dirty = false;
    now.onTheWay += 1;
    Promise.resolve(now.keep(now.text))
      .catch(() => {
        now.dirty = true;
      })
      .finally(() => {
        now.onTheWay -= 1;
      });
  };

  useEffect(() => {
    const now = state.current;
    if (now.dirty || now.onTheWay > 0 || same(now.text, kept)) return;
    now.text = kept;
    setText(kept);
  }, [kept]);

  useEffect(() => {
    const onHide = () => flush();
    document.addEventListener("visibilitychange", onHide);
    window.addEventListener("pagehide", onHide);
    return () => {
      document.removeEventListener("visibilitychange", onHide);
      window.removeEventListener("pagehide", onHide);
      flush();
    };
  }, []);

  return {
    text,
    dirty: state.current.dirty,
    input(next) {
      const now = state.current;
      now.text = next;
      now.dirty = true;
      setText(next);
      window.clearTimeout(now.timer);
      now.timer = window.setTimeout(flush, PAUSE_MS);
    },
    flush,
  };
}

function equal(left: string, right: string): boolean {
  return left === right;
}
