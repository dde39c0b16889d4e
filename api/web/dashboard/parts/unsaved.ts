import { useLayoutEffect } from "preact/hooks";

import { leaving } from "../router";

/** While `dirty`, leaving the page is asked about: `what` is lost, e.g. "the changes to this template". */
export function useUnsaved(dirty: boolean, what: string): void {
  // At once, not after the next picture: whoever types and closes the tab is asked as well.
  useLayoutEffect(() => {
    if (!dirty) return;
    const ask = () => confirm(`Leave without saving? You would lose ${what}.`);
    leaving.value = ask;
    return () => {
      if (leaving.peek() === ask) leaving.value = null;
    };
  }, [dirty, what]);
}
