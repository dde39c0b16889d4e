import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { Icon, type IconName } from "../../kit/controls/icon";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";
import type { SyncState } from "../store/types";

const ICONS: Record<SyncState["state"], IconName> = { saved: "check", saving: "cloud", offline: "offline", attention: "alert", signed_out: "person" };
const COUNTED: ReadonlySet<SyncState["state"]> = new Set(["offline", "signed_out"]);
/** Shorter states are not announced. */
const DELAY_MS = 1_200;

/** The sync state. A tap retries at once and explains the state. */
export function SyncPill() {
  const { store } = useApp();
  // Saving is short: a changing count would not help.
  const state = useComputed(() => store.sync.value.state).value;
  const waiting = useComputed(() => (COUNTED.has(store.sync.value.state) ? store.sync.value.waiting : 0)).value;
  const [open, setOpen] = useState(false);
  // The notices of the page say more about these.
  const hasNotice = state === "attention" || state === "signed_out";
  const explain = () => {
    if (hasNotice) document.querySelector(".notices")?.scrollIntoView({ block: "center" });
    else setOpen(true);
    store.retry();
  };
  return (
    <>
      <button type="button" class={`pill is-${state}`} aria-haspopup={hasNotice ? undefined : "dialog"} title={detail(state, store.keeps.value)} onClick={explain}>
        <Icon name={ICONS[state]} />
        <span class="pill-text">{words(state, waiting)}</span>
      </button>
      {open && <SyncDialog title={words(state, waiting)} state={state} onClose={() => setOpen(false)} />}
    </>
  );
}

function SyncDialog({ title, state, onClose }: { title: string; state: SyncState["state"]; onClose(): void }) {
  const { store } = useApp();
  const { waiting } = store.sync.value;
  const photos = [...store.answers.value.values()].flatMap((answer) => answer.photos).filter((photo) => photo.state === "kept" || photo.state === "uploading");
  const retry = (
    <button type="button" class="button button-primary" onClick={() => store.retry()}>
      <Icon name="retake" />
      {t("app.try_again_now")}
    </button>
  );
  return (
    <Dialog title={title} onClose={onClose} foot={state !== "saved" && retry}>
      <p>{detail(state, store.keeps.value)}</p>
      {waiting > 0 && (
        <dl class="facts">
          <dt>{t("done.answers")}</dt>
          <dd>{translator.value.number(Math.max(0, waiting - photos.length))}</dd>
          <dt>{t("done.photos")}</dt>
          <dd>{translator.value.number(photos.length)}</dd>
        </dl>
      )}
    </Dialog>
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
