import { Icon } from "../../kit/controls/icon";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";
import { NotArrivedList } from "./not_arrived";
import { Notices } from "./notices";
import { Screen } from "./screen";

/** The closed states. Each explains why, and what the person can do. */

export function Cancelled() {
  const { run, preview, notArrived } = useApp().store;
  const view = run.value;
  return (
    <Screen title={t("cancelled.title")} icon="close" about={view?.template.name ?? preview.value?.template_name ?? ""}>
      <p>{t("cancelled.text")}</p>
      {view && Object.keys(view.answers).length > 0 && <p>{t("cancelled.by_you", { sender: view.created_by_name })}</p>}
      {view?.cancel_reason && view.cancel_reason !== BY_OWNER && (
        <dl class="facts">
          <dt>{t("cancelled.reason")}</dt>
          <dd class="prose" dir="auto">
            {view.cancel_reason}
          </dd>
        </dl>
      )}
      <Notices />
      {view && <NotArrivedList items={notArrived.value} template={view.template} />}
    </Screen>
  );
}

/** The service's reason for a cancellation by the owner (contract section 5). */
const BY_OWNER = "cancelled_by_owner";

export function Expired() {
  const { run, preview, notArrived } = useApp().store;
  const view = run.value;
  const until = view?.expires_at ?? preview.value?.expires_at ?? null;
  const sender = view?.created_by_name ?? preview.value?.created_by_name;
  return (
    <Screen title={t("expired.title")} icon="clock" tone="warn" about={view?.template.name ?? preview.value?.template_name ?? ""}>
      {until !== null && <p>{t("expired.since", { date: translator.value.moment(until) })}</p>}
      <p dir="auto">{sender ? t("expired.ask", { sender }) : t("expired.text")}</p>
      <Notices />
      {view && <NotArrivedList items={notArrived.value} template={view.template} />}
    </Screen>
  );
}

export function NotFound() {
  return (
    <Screen title={t("not_found.title")} icon="search">
      <p>{t("not_found.text")}</p>
    </Screen>
  );
}

export function OfflineFirst() {
  return (
    <Screen title={t("offline_first.title")} icon="offline" tone="warn">
      <p>{t("offline_first.text")}</p>
      <Retry />
    </Screen>
  );
}

export function Unreachable() {
  return (
    <Screen title={t("unreachable.title")} icon="alert" tone="warn">
      <p>{t("unreachable.text")}</p>
      <Retry />
    </Screen>
  );
}

function Retry() {
  const { store } = useApp();
  return (
    <button type="button" class="button button-primary button-wide" onClick={() => store.retry()}>
      <Icon name="retake" />
      {t("app.try_again")}
    </button>
  );
}
