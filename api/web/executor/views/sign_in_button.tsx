import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";

/** Opens the sign-in page, which returns to the run. */
export function SignInButton({ other = false, wide = false }: { other?: boolean; wide?: boolean }) {
  const { store } = useApp();
  return (
    <button type="button" class={`button button-primary${wide ? " button-wide" : ""}`} onClick={() => void store.signIn(other)}>
      <Icon name="person" />
      {t(other ? "members.sign_in_other" : "members.sign_in")}
    </button>
  );
}
