import { useLayoutEffect } from "preact/hooks";

import { leaving } from "../router";

/** While `dirty`, leaving the page asks for confirmation: `what` is lost, e.g. "the changes to this template". */
export function useUnsaved(dirty: boolean, what: string): void {
  // Registered synchronously: the tab may be closed right after a key press.
  useLayoutEffect(() => {
    if (!dirty) return;
    const ask = () => confirm(`Leave without saving? You would lose ${what}.`);
    leaving.value = ask;
    return () => {
      if (leaving.peek() === ask) leaving.value = null;
    };
  }, [dirty, what]);
}
