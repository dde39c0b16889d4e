import type { ComponentChildren } from "preact";

import { displayValue, stepsOf, type Step } from "../../core";
import type { IconName } from "../../kit/controls/icon";
import { Message, type Tone } from "../../kit/controls/messages";
import { t } from "../../kit/language";
import { useApp } from "../context";
import type { Notice } from "../store/types";
import { words } from "./display_text";
import { SignInButton } from "./sign_in_button";

interface NoticeContent {
  tone: Tone;
  icon: IconName;
  title: string;
  text: string;
}

/** Notices, newest last, until they are dismissed. */
export function Notices() {
  const { store } = useApp();
  // Late answers have their own list with their values.
  const notices = store.notices.value.filter((notice) => notice.kind !== "not_arrived");
  const run = store.run.value;
  const steps = run === null ? [] : stepsOf(run.template);
  return (
    <div class="notices" role="status" tabIndex={-1}>
      {notices.map((notice) => (
        <NoticeMessage key={notice.id} notice={notice} steps={steps} />
      ))}
    </div>
  );
}

function NoticeMessage({ notice, steps }: { notice: Notice; steps: readonly Step[] }) {
  const { store, page } = useApp();
  const { tone, icon, title, text } = content(notice, store.run.value?.status ?? null);
  const dismiss = () => {
    // Dismissing removes the focused button, so the focus moves on.
    document.querySelector<HTMLElement>(".notices")?.focus();
    store.dismiss(notice.id);
  };
  const show = (stepId: string) => {
    store.review(false);
    page.goTo(stepId);
  };
  const named = steps.filter((step) => notice.stepIds.includes(step.id));
  const canShow = ["checklist", "review"].includes(store.phase.value);
  const links: ComponentChildren = named.length > 0 && (
    <ul class="links">
      {named.map((step) => (
        <li key={step.id}>
          {canShow ? (
            <button type="button" class="link" onClick={() => show(step.id)}>
              <span dir="auto">{step.label}</span>
            </button>
          ) : (
            <span dir="auto">{step.label}</span>
          )}
          <ReplacedAnswer notice={notice} step={step} />
        </li>
      ))}
    </ul>
  );
  if (notice.kind === "update_ready") {
    return (
      <Message tone={tone} icon={icon} title={title}>
        <p>{text}</p>
        <div class="actions">
          <button type="button" class="button" onClick={() => store.applyUpdate()}>
            {t("notice.update_now")}
          </button>
          <button type="button" class="button button-quiet" onClick={dismiss}>
            {t("notice.later")}
          </button>
        </div>
      </Message>
    );
  }
  if (notice.kind === "signed_out") {
    return (
      <Message tone={tone} icon={icon} title={title}>
        <p>{text}</p>
        <div class="actions">
          <SignInButton />
        </div>
      </Message>
    );
  }
  return (
    <Message tone={tone} icon={icon} title={title} onDismiss={dismiss}>
      <p>{text}</p>
      {links}
    </Message>
  );
}

/** What this device showed before, and what counts now. */
function ReplacedAnswer({ notice, step }: { notice: Notice; step: Step }) {
  const replaced = notice.replaced?.find(({ stepId }) => stepId === step.id);
  if (replaced === undefined) return null;
  const answer = useApp().store.run.value?.answers[step.id]?.value ?? null;
  const [before, now] = [displayValue(step, replaced.value, words()), answer === null ? "" : displayValue(step, answer, words())];
  if (before === now) return null;
  return <p class="small">{now === "" ? t("notice.removed", { before }) : t("notice.replaced", { before, now })}</p>;
}

function content(notice: Notice, status: string | null): NoticeContent {
  const count = Math.max(1, notice.stepIds.length);
  switch (notice.kind) {
    case "other_device":
      return { tone: "info", icon: "info", title: t("notice.other_device_title"), text: t("notice.other_device", { count }) };
    case "storage_full":
      return { tone: "bad", icon: "alert", title: t("notice.storage_full_title"), text: t("notice.storage_full") };
    case "not_keeping":
      return { tone: "warn", icon: "alert", title: t("notice.not_keeping_title"), text: t("notice.not_keeping") };
    case "closed_elsewhere":
      return { tone: "warn", icon: "info", title: t("notice.closed_elsewhere_title"), text: closedText(status) };
    case "not_arrived":
      return { tone: "bad", icon: "alert", title: t("notice.not_arrived_title"), text: t("notice.not_arrived", { count }) };
    case "refused":
      return { tone: "bad", icon: "alert", title: t("notice.refused_title"), text: t("notice.refused", { count }) };
    case "signed_out":
      return { tone: "warn", icon: "person", title: t("notice.signed_out_title"), text: t("sync.signed_out_text") };
    case "update_ready":
      return { tone: "info", icon: "info", title: t("notice.update_title"), text: t("notice.update") };
  }
}

function closedText(status: string | null): string {
  if (status === "cancelled") return t("notice.closed_cancelled");
  return t(status === "expired" ? "notice.closed_expired" : "notice.closed_completed");
}
