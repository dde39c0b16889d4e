import { useEffect, useRef, useState } from "preact/hooks";

/** How long after the last key a text is an answer: long enough not to send every word of a sentence as one. */
const PAUSE_MS = 600;

interface Draft {
  text: string;
  /** Whether what is shown is newer than what is kept. */
  dirty: boolean;
  input(text: string): void;
  flush(): void;
}

/**
 * Text between the keyboard and what is kept. It is handed to `keep` after a pause, on leaving the field, and when the
 * page is hidden, which on a phone may be the last thing that happens to it: then there may be no time to keep it, so it
 * is also put aside in one stroke, and taken up again when the page is opened the next time.
 *
 * A kept text that changes from outside (another device, "clear") is taken over, but never while the person types, and
 * never while an own change is still on its way, because then the older one would overwrite the newer.
 */
export function useDraft(
  id: string,
  kept: string,
  keep: (text: string) => Promise<void> | void,
  onTyping?: (typing: boolean) => void,
  same = equal,
): Draft {
  const [start] = useState(() => putAside(id));
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
      if (state.current.dirty) setAside(id, state.current.text);
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
 * Enter ends the text. On a phone it also puts the keyboard away, which takes the focus from the field; with a keyboard
 * of keys the focus stays where it is.
 */
export function onEnter(event: KeyboardEvent & { currentTarget: HTMLElement }, done: () => void): void {
  if (event.key !== "Enter" || event.isComposing) return;
  if (matchMedia("(pointer: coarse)").matches) event.currentTarget.blur();
  else done();
}

/** By the address of the run's page, as ids are those of its checklist. */
const nameOf = (id: string) => `draft ${location.pathname} ${id}`;

function setAside(id: string, text: string): void {
  try {
    localStorage.setItem(nameOf(id), text);
  } catch {
    // No room, or none allowed: it is still handed to `keep`.
  }
}

function putAside(id: string): string | null {
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
    // Then there is nothing to forget either.
  }
}

function equal(left: string, right: string): boolean {
  return left === right;
}
