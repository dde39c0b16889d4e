/** Compact form fields of the editor, with limits and the service's problems. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { lengthOf } from "../../../core";
import { FieldError } from "../../../kit/controls/messages";

interface Shared {
  label: string;
  /** The id of the input, for focus. */
  id?: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

function Wrapped({ label, id, hint, error, children }: Shared & { id: string; children: (wiring: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean }) => ComponentChildren }) {
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": Boolean(error) })}
      {hint && (
        <p class="hint small" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

interface LineProps extends Shared {
  value: string;
  limit?: number;
  placeholder?: string;
  long?: boolean;
  /** Whether typing replaces the value: it is only a proposal. */
  replaced?: boolean;
  onInput(value: string): void;
}

/** Text of one line, or of several with `long`. */
export function Line({ value, limit, placeholder, long = false, replaced = false, onInput, ...shared }: LineProps) {
  const own = useId();
  const length = limit === undefined ? 0 : lengthOf(value);
  const over = limit !== undefined && length > limit;
  const near = limit !== undefined && length > limit * 0.8;
  const error = over ? `At most ${limit.toLocaleString("en")} characters; this has ${length.toLocaleString("en")}.` : shared.error;
  const hint = near && !over ? `${length.toLocaleString("en")} of ${limit.toLocaleString("en")} characters` : shared.hint;
  return (
    <Wrapped {...shared} id={shared.id ?? own} hint={hint} error={error}>
      {(wiring) =>
        long ? (
          <textarea class="input" rows={2} dir="auto" placeholder={placeholder} {...wiring} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
        ) : (
          <input
            class="input"
            type="text"
            autocomplete="off"
            dir="auto"
            placeholder={placeholder}
            {...wiring}
            value={value}
            onFocus={(event) => replaced && event.currentTarget.select()}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        )
      }
    </Wrapped>
  );
}

interface AmountProps extends Shared {
  value: number | null | undefined;
  min?: number;
  max?: number;
  whole?: boolean;
  /** The value that applies while the field is empty. */
  none?: string;
  /** undefined: the field was emptied. */
  onChange(value: number | undefined): void;
}

/** A number. Text that is not a number or out of bounds is reported and not applied. */
export function Amount({ value, min, max, whole = false, none, onChange, ...shared }: AmountProps) {
  const own = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const last = useRef(value);
  // A new value from outside (undo, JSON) replaces the typed text.
  useEffect(() => {
    if (last.current !== value) setTyped(null);
    last.current = value;
  }, [value]);
  const text = typed ?? (value === null || value === undefined ? "" : String(value));
  const problem = problemWith(text, { min, max, whole });
  const take = (next: string) => {
    setTyped(next);
    if (problemWith(next, { min, max, whole }) !== null) return;
    last.current = next.trim() === "" ? undefined : Number(next);
    onChange(last.current);
  };
  return (
    <Wrapped {...shared} id={shared.id ?? own} error={problem ?? shared.error}>
      {(wiring) => <input class="input amount" type="text" inputMode="decimal" autocomplete="off" placeholder={none} {...wiring} value={text} onInput={(event) => take(event.currentTarget.value.replace(",", "."))} />}
    </Wrapped>
  );
}

function problemWith(text: string, { min, max, whole }: { min: number | undefined; max: number | undefined; whole: boolean }): string | null {
  if (text.trim() === "") return null;
  const value = Number(text);
  if (!Number.isFinite(value)) return "Enter a number.";
  if (whole && !Number.isInteger(value)) return "Enter a whole number.";
  if (min !== undefined && value < min) return `Enter at least ${min}.`;
  return max !== undefined && value > max ? `Enter at most ${max}.` : null;
}

interface PickProps extends Shared {
  value: string;
  options: readonly { readonly value: string; readonly title: string }[];
  /** The label is visually hidden: the surrounding sentence shows it. */
  silent?: boolean;
  /** Shown while nothing is chosen (value ""). */
  empty?: string;
  onChange(value: string): void;
}

export function Pick({ value, options, silent = false, empty, onChange, ...shared }: PickProps) {
  const own = useId();
  const id = shared.id ?? own;
  const known = options.some((option) => option.value === value);
  const list = [
    ...(known ? [] : [<option key="unknown" value={value} disabled={value === ""}>{value || empty}</option>]),
    ...options.map((option) => (
      <option key={option.value} value={option.value}>
        {option.title}
      </option>
    )),
  ];
  if (silent) {
    return (
      <select class="input" id={id} aria-label={shared.label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {list}
      </select>
    );
  }
  return (
    <Wrapped {...shared} id={id}>
      {(wiring) => (
        <select class="input" {...wiring} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {list}
        </select>
      )}
    </Wrapped>
  );
}

interface TickProps {
  label: string;
  hint?: string;
  error?: string | undefined;
  checked: boolean;
  onChange(checked: boolean): void;
}

export function Tick({ label, hint, error, checked, onChange }: TickProps) {
  const id = useId();
  return (
    <div class="field">
      <label class="radio">
        <input type="checkbox" checked={checked} aria-describedby={error ? `${id}-error` : undefined} aria-invalid={Boolean(error)} onChange={(event) => onChange(event.currentTarget.checked)} />
        <span>
          <span class="radio-title">{label}</span>
          {hint && <span class="hint small">{hint}</span>}
        </span>
      </label>
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}
