import { useEffect, useRef, useState } from "preact/hooks";

import { emailProblem, nameProblem, type Problem } from "../../core";
import { ids } from "../../kit/controls/control";
import { FieldError } from "../../kit/controls/messages";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { isKept, useApp } from "../context";
import { ErrorSummary } from "./error_summary";
import { Notices } from "./notices";
import { Screen } from "./screen";

/**
 * Asks for name and email address before the first answer. Problems are shown on submit, at the field and in a summary.
 */
export function Identity() {
  const { store } = useApp();
  const run = store.run.value;
  const known = run?.executor_identity.mode === "external" ? run.executor_identity : null;
  const [name, setName] = useState(known?.name ?? "");
  const [email, setEmail] = useState(known?.email ?? "");
  const [wrong, setWrong] = useState<readonly Problem[]>([]);
  const summary = useRef<HTMLDivElement>(null);
  const refused = store.refusals.value;
  useEffect(() => {
    if (refused.length > 0) setWrong(refused);
  }, [refused]);
  useEffect(() => {
    if (wrong.length > 0) summary.current?.focus();
  }, [wrong]);

  const send = (event: Event) => {
    event.preventDefault();
    const problems = [nameProblem(name), emailProblem(email)].filter((problem) => problem !== null);
    setWrong(problems);
    if (problems.length === 0) void isKept(store.identify(name.trim(), email.trim()));
  };
  const errorOf = (path: string) => {
    const problem = wrong.find((one) => one.path === path);
    return problem === undefined ? null : problemText(translator.value, problem);
  };
  const fields = [
    { id: "name", label: t("identity.name"), value: name, set: setName },
    { id: "email", label: t("identity.email"), value: email, set: setEmail },
  ] as const;
  return (
    <Screen title={t("identity.title")} about={run?.template.name ?? ""}>
      <p class="quiet">{t("identity.text", { sender: run?.created_by_name ?? "" })}</p>
      <Notices />
      <form class="form" noValidate onSubmit={send}>
        {wrong.length > 0 && (
          <ErrorSummary
            focus={summary}
            items={fields.flatMap(({ id }) => {
              const text = errorOf(id);
              return text === null ? [] : [{ key: id, text, onGo: () => document.getElementById(id)?.focus() }];
            })}
          />
        )}
        {fields.map(({ id, label, value, set }) => {
          const error = errorOf(id);
          return (
            <div key={id} class="field">
              <label for={id}>{label}</label>
              {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
              <input
                id={id}
                class="input"
                type="text"
                inputMode={id === "email" ? "email" : "text"}
                autocapitalize={id === "email" ? "off" : "words"}
                name={id}
                dir={id === "email" ? "ltr" : "auto"}
                autocomplete={id}
                aria-required="true"
                aria-invalid={error ? "true" : undefined}
                aria-describedby={ids(error && `${id}-error`)}
                value={value}
                onInput={(event) => set(event.currentTarget.value)}
              />
            </div>
          );
        })}
        <button type="submit" class="button button-primary button-wide">
          {t("identity.start")}
        </button>
      </form>
    </Screen>
  );
}
