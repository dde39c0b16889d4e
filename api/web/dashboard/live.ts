/**
 * Live updates of an organization's objects. The service sends which objects changed, usually without their new state:
 *
 *     const list = useResource(key, read);
 *     useLiveReload(["template"], list.reload);
 *
 * or, if a change can be applied without a request:
 *
 *     useLive(["run"], (changes) => (changes === null ? rows.refresh() : rows.update((row) => changed(row, changes))));
 */
import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { noteAnswer } from "./client";
import type { LiveUpdate } from "./live_connection";
import { SharedStream } from "./live_sharing";
import { organization } from "./session";

/** `key` and `member` are sent to administrators only. */
export type LiveKind = "run" | "delivery" | "replay" | "template" | "key" | "member";

export interface LiveChange {
  readonly kind: LiveKind;
  /** The id in the API: r-..., evt-..., a replay's, t-..., a key's, u-... */
  readonly id: string;
  readonly change: "changed" | "gone";
  /** For a delivery: the run of its event. */
  readonly run_id?: string;
  /** For a changed run, delivery or replay: its status as in lists. */
  readonly status?: string;
  /** For a changed run. */
  readonly progress?: { readonly total: number; readonly answered: number; readonly skipped: number };
  readonly flagged?: number;
}

/** null: anything may have changed, because the page was disconnected for longer than the service's history; reload. */
export type OnChange = (changes: readonly LiveChange[] | null) => void;

/** `off`: the page has no live data. `paused`: the tab has been hidden for a while. */
export type LiveState = "off" | "connected" | "reconnecting" | "paused";
export const liveState = signal<LiveState>("off");

const PAUSED_AFTER_MS = 5 * 60_000;
/** The stream stays open between two pages. */
const CLOSE_AFTER_MS = 5_000;
/** Changes often come in groups. */
const BATCH_MS = 250;
/** Minimum interval between reloads of data that keeps changing. */
const RELOAD_INTERVAL_MS = 3_000;

interface Subscriber {
  readonly kinds: ReadonlySet<LiveKind>;
  readonly notify: OnChange;
}

const subscribers = new Set<Subscriber>();
const wanted = signal(false);
const paused = signal(false);
let closeTimer: ReturnType<typeof setTimeout> | undefined;
let pauseTimer: ReturnType<typeof setTimeout> | undefined;

/**
 * Calls `onChange` with changes of these kinds while the component is mounted. It may be a new function at each render.
 */
export function useLive(kinds: readonly LiveKind[], onChange: OnChange): void {
  const newest = useRef(onChange);
  newest.current = onChange;
  useEffect(() => subscribe(kinds, (changes) => newest.current(changes)), [kinds.join()]);
}

/**
 * Calls `reload` soon after a change of these kinds, at most every few seconds, and not while the page is hidden.
 * `concerns` filters the changes, e.g. for one run.
 */
export function useLiveReload(kinds: readonly LiveKind[], reload: () => void, concerns: (change: LiveChange) => boolean = () => true): void {
  const newest = useRef({ reload, concerns });
  newest.current = { reload, concerns };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = Number.NEGATIVE_INFINITY;
    let due = false;
    const now = () => {
      timer = undefined;
      // The reload follows when the page becomes visible.
      if (document.visibilityState === "hidden") return;
      due = false;
      last = performance.now();
      newest.current.reload();
    };
    const onVisible = () => {
      if (due && timer === undefined && document.visibilityState === "visible") now();
    };
    document.addEventListener("visibilitychange", onVisible);
    const unsubscribe = subscribe(kinds, (changes) => {
      if (changes !== null && !changes.some((change) => newest.current.concerns(change))) return;
      due = true;
      timer ??= setTimeout(now, Math.max(0, last + RELOAD_INTERVAL_MS - performance.now()));
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [kinds.join()]);
}

function subscribe(kinds: readonly LiveKind[], notify: OnChange): () => void {
  const pending = new Map<string, LiveChange>();
  let all = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const changes = all ? null : [...pending.values()];
    all = false;
    pending.clear();
    notify(changes);
  };
  const subscriber: Subscriber = {
    kinds: new Set(kinds),
    notify: (changes) => {
      if (changes === null) all = true;
      else for (const change of changes) pending.set(`${change.kind} ${change.id}`, change);
      timer ??= setTimeout(flush, BATCH_MS);
    },
  };
  subscribers.add(subscriber);
  clearTimeout(closeTimer);
  wanted.value = true;
  return () => {
    clearTimeout(timer);
    subscribers.delete(subscriber);
    if (subscribers.size > 0) return;
    clearTimeout(closeTimer);
    closeTimer = setTimeout(() => {
      wanted.value = false;
    }, CLOSE_AFTER_MS);
  };
}

function notifyAll({ changes }: Pick<LiveUpdate, "changes">): void {
  for (const { kinds, notify } of subscribers) {
    if (changes === null) {
      notify(null);
      continue;
    }
    const theirs = changes.filter((change) => kinds.has(change.kind));
    if (theirs.length > 0) notify(theirs);
  }
}

/** Organization and member of the stream; unchanged by a reload of the session. */
const streamKey = computed(() => (organization.value === null ? "" : `${organization.value.id}/${organization.value.member_id}`));

/** Opens one stream at a time: for the organization in the address, while a page needs it and the tab is visible. */
effect(() => {
  const [id = "", member = ""] = streamKey.value.split("/");
  if (id === "" || !wanted.value) {
    liveState.value = "off";
    return;
  }
  if (paused.value) {
    liveState.value = "paused";
    return;
  }
  liveState.value = "reconnecting";
  const stream = new SharedStream(id, member, {
    onUpdate: (update) => {
      noteAnswer();
      notifyAll(update);
    },
    connected: (yes) => {
      if (yes) noteAnswer();
      liveState.value = yes ? "connected" : "reconnecting";
    },
  });
  return () => stream.stop();
});

document.addEventListener("visibilitychange", () => {
  clearTimeout(pauseTimer);
  if (document.visibilityState === "hidden") {
    pauseTimer = setTimeout(() => {
      paused.value = true;
    }, PAUSED_AFTER_MS);
  } else if (paused.peek()) {
    paused.value = false;
    notifyAll({ changes: null });
  }
});
