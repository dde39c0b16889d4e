import { Message } from "../../kit/controls/messages";
import { appStores } from "../../kit/install";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";
import { Screen } from "./screen";

/** A link without its secret part: describes the checklist and how to open it. */
export function PreviewOnly() {
  const preview = useApp().store.preview.value;
  if (preview === null) return <Screen title={t("app.name")} />;
  const { status } = preview;
  const open = status === "pending" || status === "in_progress";
  const stores = appStores();
  return (
    <Screen title={preview.template_name} about={status === "expired" ? "" : t(`preview.${status}`)}>
      <dl class="facts">
        <dt>{t("preview.from")}</dt>
        <dd dir="auto">{preview.created_by_name}</dd>
        <dt>{t("preview.length")}</dt>
        <dd>{t("preview.steps", { count: preview.step_count })}</dd>
        {open && (
          <>
            <dt>{t("preview.open_until")}</dt>
            <dd>{preview.expires_at === null ? t("preview.no_end") : translator.value.moment(preview.expires_at)}</dd>
          </>
        )}
      </dl>
      {open && (
        <Message tone="info">
          <p>{t("preview.link_incomplete")}</p>
        </Message>
      )}
      {status === "completed" && <p>{t("preview.completed_text")}</p>}
      {status === "cancelled" && <p>{t("preview.cancelled_text")}</p>}
      {open && stores.length > 0 && (
        <div class="install">
          <p>{t("preview.app_prompt")}</p>
          {stores.map(({ kind, address }, place) => (
            <a key={kind} class={place === 0 ? "button button-primary button-wide" : "button button-wide"} href={address} rel="noreferrer">
              {t("preview.app_get")} ({kind === "apple" ? "App Store" : "Google Play"})
            </a>
          ))}
        </div>
      )}
      {open && <p class="quiet small">{t("preview.keep_link")}</p>}
    </Screen>
  );
}
