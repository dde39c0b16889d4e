/** Filters whose values are in the address' query, so that the view can be shared as a link. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { query, setQuery } from "../router";

const TYPING_PAUSE_MS = 300;

interface FilterBarProps {
  /** "Filter runs" */
  label: string;
  /** The query parameters that are filters; "Clear" removes them. */
  names: readonly string[];
  /** Filters of links that have no field: a button that removes it. */
  others?: readonly { readonly name: string; readonly title: string }[];
  /** The number of results as text, announced when it changes. */
  result?: string | null;
  children: ComponentChildren;
}

export function FilterBar({ label, names, others = [], result, children }: FilterBarProps) {
  const open = useSignal(false);
  const id = useId();
  const set = names.filter((name) => query.value.has(name)).length;
  return (
    <form class="filters" role="search" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      <button type="button" class="button filters-button" aria-expanded={open.value} aria-controls={id} onClick={() => (open.value = !open.value)}>
        <Icon name="filter" />
        {set === 0 ? "Filters" : `Filters (${set})`}
      </button>
      <div id={id} class={open.value ? "filter-fields is-open" : "filter-fields"}>
        {children}
      </div>
      <div class="filter-foot">
        <p class="filter-result quiet small tabular" role="status">
          {result}
        </p>
        {others.map(({ name, title }) => (
          <button key={name} type="button" class="filter-other" aria-label={`Remove the filter: ${title}`} onClick={() => change({ [name]: null })}>
            {title}
            <Icon name="close" />
          </button>
        ))}
        {set > 0 && (
          <button type="button" class="button button-quiet" onClick={() => change(Object.fromEntries(names.map((name) => [name, null])))}>
            Clear filters
          </button>
        )}
      </div>
    </form>
  );
}

interface FilterProps {
  /** The query parameter. */
  name: string;
  label: string;
}

/** A single choice; the empty value is "any". */
export function SelectFilter({ name, label, any = "Any", options }: FilterProps & { any?: string; options: readonly { value: string; title: string }[] }) {
  const id = useId();
  const value = query.value.get(name) ?? "";
  const known = value === "" || options.some((option) => option.value === value);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} class="input" value={value} onChange={(event) => change({ [name]: event.currentTarget.value })}>
        <option value="">{any}</option>
        {!known && <option value={value}>{value}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.title}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Free text, applied after a pause in typing and on Enter. */
export function TextFilter({ name, label, placeholder }: FilterProps & { placeholder?: string }) {
  const id = useId();
  const set = query.value.get(name) ?? "";
  const [typed, setTyped] = useState(set);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setTyped(set), [set]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (text: string) => {
    clearTimeout(timer.current);
    if (text.trim() !== set) change({ [name]: text.trim() });
  };
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        type="search"
        dir="auto"
        autocomplete="off"
        placeholder={placeholder}
        value={typed}
        onInput={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => apply(text), TYPING_PAUSE_MS);
        }}
        onKeyDown={(event) => event.key === "Enter" && apply(typed)}
        onBlur={() => apply(typed)}
      />
    </div>
  );
}

/** A day, in the query as `2026-11-21`; `dayStart` and `dayEnd` turn it into timestamps. */
export function DayFilter({ name, label }: FilterProps) {
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input id={id} class="input" type="date" value={query.value.get(name) ?? ""} onChange={(event) => change({ [name]: event.currentTarget.value })} />
    </div>
  );
}

/** The start of the local day as a timestamp; null if it is not a date. */
export function dayStart(day: string | null): string | null {
  return momentOf(day, 0);
}

/** The end of the local day (exclusive). */
export function dayEnd(day: string | null): string | null {
  return momentOf(day, 1);
}

function momentOf(day: string | null, later: number): string | null {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? "");
  if (found === null) return null;
  const moment = new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3]) + later);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}

/** A changed filter starts at the first page. */
function change(parts: Record<string, string | null>): void {
  setQuery({ ...parts, page: null });
}
