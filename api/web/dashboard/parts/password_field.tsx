import { useState } from "preact/hooks";

import { CheckField, TextField } from "./fields";

interface PasswordFieldProps {
  name: string;
  label: string;
  hint?: string;
  value: string;
  error: string | undefined;
  /** For the browser's password manager. */
  autocomplete: "current-password" | "new-password";
  onInput(value: string): void;
}

/** A password field with a button to show the password. */
export function PasswordField({ hint, autocomplete, ...field }: PasswordFieldProps) {
  const [shown, setShown] = useState(false);
  return (
    <div class="password">
      <TextField {...field} {...(hint === undefined ? {} : { hint })} type={shown ? "text" : "password"} autocomplete={autocomplete} spellcheck={false} />
      <CheckField name={`${field.name}-shown`} label="Show the password" checked={shown} onChange={setShown} />
    </div>
  );
}
