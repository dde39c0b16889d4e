import { useEffect, useRef, useState } from "preact/hooks";

/** Debounce of typed text: long enough not to send every word of a sentence as an answer. */
const PAUSE_MS = 600;

interface Draft {
  text: string;
  /** Whether the input is newer than the stored value. */
  dirty: boolean;
  input(text: string): void;
  flush(): void;
}

/**
 * Text between the input and the store. It is passed to `keep` after a pause, on blur, and when the page is hidden,
 * which on a phone may be the last event: then there may be no time for an asynchronous write, so the text is also
 * written to local storage, and restored when the page is opened again.
 *
 * A stored text that changes from outside (another device, "clear") replaces the input, but not while the person types,
 * and not while an own change is pending, because then the older one would overwrite the newer.
 */
export function useDraft(
  id: string,
  kept: string,
  keep: (text: string) => Promise<void> | void,
  onTyping?: (typing: boolean) => void,
  same = equal,
): Draft {
  const [start] = useState(() => store(id));
  const [text, setText] = useState(start ?? kept);
  const state = useRef({ text: start ?? kept, dirty: start !== null, onTheWay: 0, timer: 0, keep });
  state.current.keep = keep;

  const flush = () => {
    const now = state.current;
    window.clearTimeout(now.timer);
    if (!now.dirty) return;
    now.dirty = false;
    now.onTheWay += 1;
    Promise.resolve(now.keep(now.text))
      .then(() => forget(id))
      .catch(() => {
        now.dirty = true;
      })
      .finally(() => {
        now.onTheWay -= 1;
        if (!now.dirty && now.onTheWay === 0) onTyping?.(false);
      });
  };

  useEffect(() => {
    const now = state.current;
    if (now.dirty || now.onTheWay > 0 || same(now.text, kept)) return;
    now.text = kept;
    setText(kept);
  }, [kept]);

  useEffect(() => {
    const onHide = () => {
      if (state.current.dirty) readStored(id, state.current.text);
      flush();
    };
    if (state.current.dirty) flush();
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
      onTyping?.(true);
      setText(next);
      window.clearTimeout(now.timer);
      now.timer = window.setTimeout(flush, PAUSE_MS);
    },
    flush,
  };
}

/**
 * Enter ends the text. On a phone it hides the keyboard, which blurs the field; with a hardware keyboard the focus
 * stays.
 */
export function onEnter(event: KeyboardEvent & { currentTarget: HTMLElement }, done: () => void): void {
  if (event.key !== "Enter" || event.isComposing) return;
  if (matchMedia("(pointer: coarse)").matches) event.currentTarget.blur();
  else done();
}

/** The key contains the run's path, because step ids are unique in a checklist only. */
const nameOf = (id: string) => `draft ${location.pathname} ${id}`;

function readStored(id: string, text: string): void {
  try {
    localStorage.setItem(nameOf(id), text);
  } catch {
    // Storage is full or blocked: the text is still passed to `keep`.
  }
}

function store(id: string): string | null {
  try {
    return localStorage.getItem(nameOf(id));
  } catch {
    return null;
  }
}

function forget(id: string): void {
  try {
    localStorage.removeItem(nameOf(id));
  } catch {
    // Nothing is stored then.
  }
}

function equal(left: string, right: string): boolean {
  return left === right;
}
