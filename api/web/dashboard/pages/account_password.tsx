/** The password of a local account: set after an invitation, or changed. */
import { useRef, useState } from "preact/hooks";

import { ApiError, call } from "../client";
import { allInline, focusFirstProblem, problemOf } from "../parts/fields";
import { Link } from "../parts/link";
import { Section } from "../parts/page_head";
import { PasswordField } from "../parts/password_field";
import { Refusal } from "../parts/refusal";
import { toast } from "../parts/toast";
import { query, setQuery } from "../router";
import { take, type Session } from "../session";
import { returnPath } from "../sign_in_ways";

const CURRENT = "current_password";
const NEW = "new_password";

export function PasswordForm({ method }: { method: Session["method"] }) {
  const form = useRef<HTMLFormElement>(null);
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  /** The run's page to return to. */
  const away = returnPath(query.value);
  const choosing = query.value.get("password") === "choose";
  // Shortly after signing in by a link, the current password is not required; the service says when that ends.
  const asksCurrent = method !== "link" || problemOf(error, CURRENT) !== undefined || current !== "";
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy || error?.status === 429) return;
    setTried(true);
    setError(null);
    if (fresh === "" || (asksCurrent && current === "")) return focusFirstProblem(form.current);
    setBusy(true);
    try {
      const json = { ...(asksCurrent && { [CURRENT]: current }), [NEW]: fresh };
      take(await call<Session>("account/password", { method: "POST", json }));
      setCurrent("");
      setFresh("");
      setTried(false);
      if (away !== null) return location.replace(away);
      setQuery({ password: null });
      toast("Your password is set. All your other browsers are signed out.");
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      focusFirstProblem(form.current);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section
      title={choosing ? "Choose a password" : "Password"}
      lead={choosing ? "The link works only once. Set a password for your next sign-in." : "A new password signs you out of all other browsers."}
    >
      <form ref={form} class="form password-form" noValidate onSubmit={(event) => void submit(event)}>
        {asksCurrent && (
          <PasswordField
            name={CURRENT}
            label="Current password"
            autocomplete="current-password"
            value={current}
            error={tried && current === "" ? "Enter your current password." : problemOf(error, CURRENT)}
            onInput={setCurrent}
          />
        )}
        <PasswordField
          name={NEW}
          label="New password"
          hint="At least 12 characters. A few unrelated words are easy to remember."
          autocomplete="new-password"
          value={fresh}
          error={tried && fresh === "" ? "Enter a new password." : problemOf(error, NEW)}
          onInput={setFresh}
        />
        {error && !allInline(error, [CURRENT, NEW]) && <Refusal error={error} onOver={() => setError(null)} />}
        <div class="actions">
          <button type="submit" class="button button-primary" aria-disabled={busy}>
            {busy && <span class="spinner" />}
            Set the password
          </button>
          {choosing && away === null && (
            <Link to="" class="button">
              Not now
            </Link>
          )}
          {choosing && away !== null && (
            <a href={away} class="button">
              Not now
            </a>
          )}
        </div>
      </form>
    </Section>
  );
}
