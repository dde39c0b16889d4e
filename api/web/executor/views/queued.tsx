import { t } from "../../kit/language";
import { Icon } from "../../kit/controls/icon";
import { isKept, useApp } from "../context";
import type { ServerRun } from "../store/types";
import { Screen } from "./screen";
import { SignInButton } from "./sign_in_button";
import { SyncNews } from "./sync_pill";

/** A submit or cancellation that is not sent yet. */
export function Queued({ run }: { run: ServerRun }) {
  const { store } = useApp();
  const { state, waiting } = store.sync.value;
  const before = Math.max(0, waiting - 1);
  const cancelling = store.cancelQueued.value;
  if (state === "saving" || state === "saved") {
    return (
      <Screen title={t("review.submitting")} about={run.template.name}>
        <div class="sending" role="status">
          <span class="spinner" aria-hidden="true" />
          <p>{t("sync.saving_text")}</p>
        </div>
      </Screen>
    );
  }
  if (state === "signed_out") {
    return (
      <Screen title={t("review.queued_title")} icon="person" tone="warn" about={run.template.name}>
        <p>{t("members.not_sent")}</p>
        <SignInButton wide />
        <button type="button" class="button button-wide" onClick={() => void isKept(store.withdraw())}>
          {t("review.back")}
        </button>
        <SyncNews />
      </Screen>
    );
  }
  return (
    <Screen title={t("review.queued_title")} icon="offline" tone="warn" about={run.template.name}>
      <p>{t(cancelling ? "cancel.queued" : store.keeps.value ? "review.queued_text" : "checklist.waiting")}</p>
      {before > 0 && <p class="quiet">{t("review.waiting_first", { count: before })}</p>}
      <button type="button" class="button button-primary button-wide" onClick={() => store.retry()}>
        <Icon name="retake" />
        {t("app.try_again_now")}
      </button>
      <button type="button" class="button button-wide" onClick={() => void isKept(store.withdraw())}>
        {t("review.back")}
      </button>
      <SyncNews />
    </Screen>
  );
}
