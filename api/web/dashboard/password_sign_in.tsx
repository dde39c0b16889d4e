/** E-mail address and password, on the sign-in page and above a page whose session has ended. */
import { useRef, useState } from "preact/hooks";

import { ApiError } from "./client";
import { focusFirstProblem, TextField } from "./parts/fields";
import { PasswordField } from "./parts/password_field";
import { Refusal } from "./parts/refusal";
import { signInWithPassword } from "./sign_in_ways";

interface PasswordSignInProps {
  /** The person who was signed in; only they can go on. */
  email?: string;
  primary: boolean;
  /** There is a session, which the page does not know yet. */
  onSignedIn(): Promise<void>;
}

export function PasswordSignIn({ email: known, primary, onSignedIn }: PasswordSignInProps) {
  const form = useRef<HTMLFormElement>(null);
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const wrong = error?.code === "sign_in_failed" ? error.message : undefined;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy || error?.status === 429) return;
    setTried(true);
    setError(null);
    if (email.trim() === "" || password === "") return focusFirstProblem(form.current);
    setBusy(true);
    try {
      await signInWithPassword(email, password);
      await onSignedIn();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      focusFirstProblem(form.current);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="form" noValidate onSubmit={(event) => void submit(event)}>
      <TextField
        name="email"
        type="email"
        label="E-mail address"
        autocomplete="username"
        value={email}
        readOnly={known !== undefined}
        error={tried && email.trim() === "" ? "Enter your e-mail address." : undefined}
        onInput={setEmail}
      />
      <PasswordField
        name="password"
        label="Password"
        autocomplete="current-password"
        value={password}
        error={tried && password === "" ? "Enter your password." : wrong}
        onInput={setPassword}
      />
      {error && !wrong && <Refusal error={error} onOver={() => setError(null)} />}
      <button type="submit" class={primary ? "button button-primary button-wide" : "button button-wide"} aria-disabled={busy || error?.status === 429}>
        {busy && <span class="spinner" />}
        Sign in
      </button>
    </form>
  );
}
