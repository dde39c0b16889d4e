/** Sign-in with email address and password, on the sign-in page and in the dialog of an ended session. */
import { useRef, useState } from "preact/hooks";

import { ApiError } from "./client";
import { focusFirstProblem, TextField } from "./parts/fields";
import { PasswordField } from "./parts/password_field";
import { Refusal } from "./parts/refusal";
import { type AccountChoice, signInWithPassword } from "./sign_in_ways";

interface PasswordSignInProps {
  /** The person who was signed in; only they can continue. */
  email?: string;
  primary: boolean;
  /** A session exists that is not loaded yet. */
  onSignedIn(): Promise<void>;
}

export function PasswordSignIn({ email: known, primary, onSignedIn }: PasswordSignInProps) {
  const form = useRef<HTMLFormElement>(null);
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [choices, setChoices] = useState<readonly AccountChoice[]>([]);
  const wrong = error?.code === "sign_in_failed" ? error.message : undefined;
  const submit = async (organizationId?: string) => {
    if (busy || error?.status === 429) return;
    setTried(true);
    setError(null);
    if (email.trim() === "" || password === "") return focusFirstProblem(form.current);
    setBusy(true);
    try {
      const several = await signInWithPassword(email, password, organizationId);
      if (several !== null) setChoices(several);
      else await onSignedIn();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      focusFirstProblem(form.current);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      ref={form}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <TextField
        name="email"
        type="email"
        label="E-mail address"
        autocomplete="username"
        value={email}
        readOnly={known !== undefined}
        error={tried && email.trim() === "" ? "Enter your e-mail address." : undefined}
        onInput={(text) => {
          setEmail(text);
          setChoices([]);
        }}
      />
      <PasswordField
        name="password"
        label="Password"
        autocomplete="current-password"
        value={password}
        error={tried && password === "" ? "Enter your password." : wrong}
        onInput={(text) => {
          setPassword(text);
          setChoices([]);
        }}
      />
      {error && !wrong && <Refusal error={error} onOver={() => setError(null)} />}
      {choices.length > 0 && (
        <div class="form" role="group" aria-label="Accounts">
          <p role="status">Several accounts have this address and password. Choose one:</p>
          {choices.map((choice) => (
            <button key={choice.id} type="button" class="button button-wide" aria-disabled={busy} onClick={() => void submit(choice.id)}>
              {choice.name}
            </button>
          ))}
        </div>
      )}
      <button type="submit" class={primary ? "button button-primary button-wide" : "button button-wide"} aria-disabled={busy || error?.status === 429}>
        {busy && <span class="spinner" />}
        Sign in
      </button>
    </form>
  );
}
