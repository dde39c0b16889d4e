import { useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { Icon } from "../../kit/controls/icon";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";
import type { ServerRun } from "../store/types";
import { CancelDialog } from "./cancel_dialog";
import { LanguageChoice } from "./language_choice";

/** Secondary actions: about the checklist, language, early review, cancellation. */
export function ChecklistMenu({ run, onClose }: { run: ServerRun; onClose(): void }) {
  const { store, page } = useApp();
  const other = page.walk.layout.value === "list" ? "one_at_a_time" : "list";
  const [cancelling, setCancelling] = useState(false);
  if (cancelling) return <CancelDialog run={run} onClose={onClose} />;
  const minutes = run.template.settings.est_minutes;
  const name = run.executor_identity.mode === "external" ? run.executor_identity.name : (run.signed_in_as?.name ?? null);
  return (
    <Dialog title={t("app.menu")} onClose={onClose}>
      <dl class="facts">
        <dt>{t("preview.from")}</dt>
        <dd dir="auto">{run.created_by_name}</dd>
        <dt>{t("preview.open_until")}</dt>
        <dd>{run.expires_at === null ? t("preview.no_end") : translator.value.moment(run.expires_at)}</dd>
        {minutes !== null && minutes >= 1 && (
          <>
            <dt>{t("preview.length")}</dt>
            <dd>{t("preview.minutes", { count: Math.round(minutes) })}</dd>
          </>
        )}
      </dl>
      {run.template.description && (
        <p class="prose quiet" dir="auto">
          {run.template.description}
        </p>
      )}
      {name && (
        <p class="quiet" dir="auto">
          {t("identity.signed_in_as", { name })}
        </p>
      )}
      <LanguageChoice id="menu-language" />
      <button
        type="button"
        class="button"
        onClick={() => {
          onClose();
          page.walk.setLayout(other);
        }}
      >
        <Icon name={other === "list" ? "list" : "single"} />
        {t(`checklist.${other}`)}
      </button>
      <button
        type="button"
        class="button"
        onClick={() => {
          onClose();
          store.review(true);
        }}
      >
        <Icon name="check-circle" />
        {t("review.title")}
      </button>
      <button type="button" class="button button-quiet is-bad" onClick={() => setCancelling(true)}>
        {t("cancel.open")}
      </button>
    </Dialog>
  );
}
