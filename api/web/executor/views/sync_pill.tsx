import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { Icon, type IconName } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";
import type { SyncState } from "../store/types";

const ICONS: Record<SyncState["state"], IconName> = { saved: "check", saving: "cloud", offline: "offline", attention: "alert", signed_out: "person" };
const COUNTED: ReadonlySet<SyncState["state"]> = new Set(["offline", "signed_out"]);
/** Shorter states are not announced. */
const DELAY_MS = 1_200;

/** The sync state. A tap retries at once. */
export function SyncPill() {
  const { store } = useApp();
  // Saving is short: a changing count would not help.
  const state = useComputed(() => store.sync.value.state).value;
  const waiting = useComputed(() => (COUNTED.has(store.sync.value.state) ? store.sync.value.waiting : 0)).value;
  const retry = () => {
    if (state === "attention" || state === "signed_out") document.querySelector(".notices")?.scrollIntoView({ block: "center" });
    store.retry();
  };
  return (
    <button type="button" class={`pill is-${state}`} title={detail(state, store.keeps.value)} onClick={retry}>
      <Icon name={ICONS[state]} />
      <span>{words(state, waiting)}</span>
    </button>
  );
}

/** Announces connection changes; successful saves are not announced. */
export function SyncNews() {
  const { store, page } = useApp();
  const state = useComputed(() => store.sync.value.state).value;
  const announced = useRef<SyncState["state"]>("saved");
  useEffect(() => {
    if (state === "saving" || state === announced.current) return;
    const timer = window.setTimeout(() => {
      const news = detail(state, store.keeps.peek());
      page.announce(announced.current === "offline" ? `${t("sync.back_online")}. ${news}` : news);
      announced.current = state;
    }, DELAY_MS);
    return () => window.clearTimeout(timer);
  }, [state]);
  return null;
}

function words(state: SyncState["state"], waiting: number): string {
  if (state === "offline" && waiting > 0) return t("sync.offline_waiting", { count: waiting });
  if (state === "signed_out" && waiting > 0) return t("sync.signed_out_waiting", { count: waiting });
  return t(`sync.${state}`);
}

function detail(state: SyncState["state"], keeps: boolean): string {
  if (state === "offline" && !keeps) return t("checklist.waiting");
  return t(`sync.${state}_text`);
}
