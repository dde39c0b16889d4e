import { t } from "../../kit/language";
import { useApp } from "../context";
import { Screen } from "./screen";
import { SignInButton } from "./sign_in_button";

/** Views of a run for members without access. */

export function SignIn() {
  const { store } = useApp();
  const { asking } = store.membership.value;
  const organization = asking?.organization ?? "";
  return (
    <Screen title={t("members.sign_in_title")} icon="person" about={useAbout()}>
      <p>{t("members.sign_in_text", { organization })}</p>
      <dl class="facts">
        {asking !== null && asking.sender !== organization && (
          <>
            <dt>{t("preview.from")}</dt>
            <dd dir="auto">{asking.sender}</dd>
          </>
        )}
        <dt>{t("members.organization")}</dt>
        <dd dir="auto">{organization}</dd>
      </dl>
      <SignInButton wide />
      <p class="quiet">{t(store.keeps.value ? "members.way_back" : "members.new_tab")}</p>
    </Screen>
  );
}

export function NotMember() {
  const { asking } = useApp().store.membership.value;
  return (
    <Screen title={t("members.not_member_title")} icon="person" tone="warn" about={useAbout()}>
      <p>{t("members.not_member_text", { organization: asking?.organization ?? "" })}</p>
      <SignInAsOther />
    </Screen>
  );
}

export function Assigned() {
  const { access } = useApp().store.membership.value;
  return (
    <Screen title={t("members.assigned_title")} icon="person" tone="warn" about={useAbout()}>
      <p>{t(access === "others" ? "members.others_text" : "members.assigned_text")}</p>
      <SignInAsOther />
    </Screen>
  );
}

function SignInAsOther() {
  const { store } = useApp();
  const { email } = store.membership.value;
  const { waiting } = store.sync.value;
  return (
    <>
      {email !== null && (
        <p>
          {t("members.signed_in_as")}
          <br />
          <strong dir="ltr">{email}</strong>
        </p>
      )}
      {waiting > 0 && <p>{t("members.waiting", { count: waiting })}</p>}
      <SignInButton other wide />
      <button type="button" class="button button-wide" onClick={() => store.retry()}>
        {t("app.try_again")}
      </button>
    </>
  );
}

function useAbout(): string {
  const { run, membership } = useApp().store;
  return membership.value.asking?.templateName ?? run.value?.template.name ?? "";
}
