/** Whether the page receives live updates. Silent for screen readers while it does. */
import "../styles/live.css";

import { useEffect, useState } from "preact/hooks";

import { isAnswering } from "../client";
import { liveState, type LiveState } from "../live";

type Shown = Exclude<LiveState, "off"> | "silent";

const WORDS: Readonly<Record<Shown, readonly [word: string, meaning: string]>> = {
  connected: ["Live", "This page shows changes as they happen."],
  reconnecting: ["Reconnecting …", "Changes are not shown now. The page updates when it is connected again."],
  paused: ["Paused", "The page was hidden for a while. It updates when you return."],
  silent: ["Not answering", "The service does not answer. What you see may be out of date."],
};
/** Short interruptions are not shown. */
const DELAY_MS = 2_000;

export function LiveBadge() {
  const settled = useSettled(liveState.value);
  const shown = isAnswering.value || settled === "reconnecting" || settled === "paused" ? settled : "silent";
  if (shown === "off") return null;
  const [word, meaning] = WORDS[shown];
  return (
    <span class={`live-badge is-${shown}`} title={meaning}>
      <span class="live-dot" aria-hidden="true" />
      <span class="live-word">{word}</span>
    </span>
  );
}

function useSettled(state: LiveState): LiveState {
  const [shown, setShown] = useState<LiveState>(state === "reconnecting" ? "off" : state);
  useEffect(() => {
    if (state !== "reconnecting") {
      setShown(state);
      return;
    }
    const timer = setTimeout(() => setShown(state), DELAY_MS);
    return () => clearTimeout(timer);
  }, [state]);
  return shown;
}
