/** Form fields: label above, hint below, error linked to the field. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import { FieldError } from "../../kit/controls/messages";
import { ApiError } from "../client";

interface FieldProps {
  label: string;
  name: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** Shows "(optional)" after the label; fields are required by default. */
  optional?: boolean;
}

interface Wiring {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

function Field({ label, hint, error, optional, children }: FieldProps & { children: (wiring: Wiring) => ComponentChildren }) {
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="quiet"> (optional)</span>}
      </label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": Boolean(error) })}
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

interface TextFieldProps extends FieldProps {
  value: string;
  type?: "text" | "email" | "password" | "search" | "url" | "number" | "date" | "datetime-local";
  autocomplete?: string;
  maxLength?: number;
  min?: number | string;
  max?: number | string;
  step?: number | string;
  readOnly?: boolean;
  placeholder?: string;
  spellcheck?: boolean;
  onInput(value: string): void;
  onBlur?(): void;
}

export function TextField({ value, type = "text", onInput, onBlur, label, hint, error, optional, ...given }: TextFieldProps) {
  return (
    <Field label={label} name={given.name} hint={hint} error={error} optional={optional ?? false}>
      {(wiring) => <input class="input" type={type as "text"} dir="auto" {...given} {...wiring} value={value} onInput={(event) => onInput(event.currentTarget.value)} onBlur={onBlur} />}
    </Field>
  );
}

interface TextAreaProps extends FieldProps {
  value: string;
  rows?: number;
  placeholder?: string;
  mono?: boolean;
  onInput(value: string): void;
}

export function TextAreaField({ value, rows = 4, mono = false, placeholder, onInput, ...field }: TextAreaProps) {
  return (
    <Field {...field}>
      {(wiring) => (
        <textarea
          class={mono ? "input mono" : "input"}
          name={field.name}
          rows={rows}
          dir="auto"
          spellcheck={!mono}
          placeholder={placeholder}
          {...wiring}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export interface Option {
  readonly value: string;
  readonly title: string;
  /** For RadioField: an explanation. */
  readonly means?: string;
}

interface SelectFieldProps extends FieldProps {
  value: string;
  options: readonly Option[];
  onChange(value: string): void;
}

export function SelectField({ value, options, onChange, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(wiring) => (
        <select class="input" name={field.name} {...wiring} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A few options, each with an explanation. */
export function RadioField({ label, name, hint, error, value, options, onChange }: SelectFieldProps) {
  const id = useId();
  return (
    <fieldset class="field" aria-describedby={[hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined}>
      <legend class="label">{label}</legend>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {options.map((option) => (
        <label key={option.value} class="radio">
          <input type="radio" name={name} value={option.value} checked={value === option.value} onChange={() => onChange(option.value)} />
          <span>
            <span class="radio-title">{option.title}</span>
            {option.means && <span class="hint">{option.means}</span>}
          </span>
        </label>
      ))}
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </fieldset>
  );
}

interface CheckFieldProps {
  label: string;
  name: string;
  hint?: string;
  checked: boolean;
  onChange(checked: boolean): void;
}

export function CheckField({ label, name, hint, checked, onChange }: CheckFieldProps) {
  return (
    <label class="radio">
      <input type="checkbox" name={name} checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>
        <span class="radio-title">{label}</span>
        {hint && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}

/** The service's problem with the field at `path` ("name", "webhook.url"). */
export function problemOf(error: ApiError | null, path: string): string | undefined {
  return error?.problems.find((problem) => problem.path === path)?.message;
}

/** Whether all problems of the error are shown at one of these fields. */
export function allInline(error: ApiError, paths: readonly string[]): boolean {
  return error.problems.length > 0 && error.problems.every((problem) => paths.includes(problem.path));
}

/** The error without the problem of this field; null if it had no other. */
export function withoutProblem(error: ApiError, path: string): ApiError | null {
  const problems = error.problems.filter((problem) => problem.path !== path);
  if (problems.length === error.problems.length) return error;
  return problems.length === 0 ? null : new ApiError(error.status, error.code, error.message, problems, error.requestId, error.details, error.retryAfter);
}

/** Focuses the first field with a problem, and shows the text of the problem. */
export function focusFirstProblem(form: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const field = form?.querySelector<HTMLElement>("[aria-invalid=true]");
    field?.focus();
    field?.closest("fieldset, .field")?.querySelector(".error")?.scrollIntoView({ block: "nearest", behavior: "instant" });
  });
}
