/** The condition of a step, as a sentence. Only earlier steps and operators that fit their type are offered. */
import type { Comparison, Operator } from "../../../core";
import {
  LIMITS,
  AUTHORING,
  changedComparison,
  comparisonsOf,
  isGroup,
  newComparison,
  operatorText,
  readWhen,
  sourcesFor,
  withStep,
  writeWhen,
  type DraftStep,
  type Group,
  type Join,
  type Part,
} from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { FieldError } from "../../../kit/controls/messages";
import { Amount, Pick } from "./editor_fields";
import { focusSoon, whenId } from "./focus";
import type { EditorState } from "./editor_state";

const JOINS = [
  { value: "all", title: "all of these hold" },
  { value: "any", title: "any of these holds" },
];

interface FieldProps {
  editor: EditorState;
  step: DraftStep;
  error: string | undefined;
}

export function ConditionField({ editor, step, error }: FieldProps) {
  const sources = sourcesFor(editor.draft.value, step.id);
  const when = step.condition?.when ?? null;
  const group = when === null ? null : readWhen(when);
  const full = when !== null && comparisonsOf(when).length >= LIMITS.comparisons;
  const put = (next: Group | null) => {
    const written = next === null ? null : writeWhen(next);
    editor.change(withStep(editor.draft.peek(), step.id, { condition: written === null ? undefined : { ...step.condition, when: written } }), `${step.id}.condition`);
  };
  const begin = () => {
    put({ join: "all", parts: [newComparison(sources)] });
    focusSoon(whenId(step.id));
  };
  return (
    <fieldset id={whenId(step.id)} class="field condition" tabIndex={-1} aria-describedby={error ? `${step.id}-condition-error` : undefined}>
      <legend class="label">When is it shown?</legend>
      {group === null ? (
        <p>Always.</p>
      ) : (
        <GroupField group={group} sources={sources} all={editor.steps.value} depth={1} full={full} onChange={(next) => put(next.parts.length === 0 ? null : next)} />
      )}
      {error && <FieldError id={`${step.id}-condition-error`}>{error}</FieldError>}
      {group === null && (
        <div class="actions">
          <button type="button" class="button" disabled={sources.length === 0} onClick={begin}>
            <Icon name="plus" />
            Only show it when …
          </button>
          {sources.length === 0 && <span class="quiet small">No earlier step takes an answer.</span>}
        </div>
      )}
    </fieldset>
  );
}

interface GroupProps {
  group: Group;
  sources: readonly DraftStep[];
  all: ReadonlyMap<string, DraftStep>;
  depth: 1 | 2;
  full: boolean;
  onChange(next: Group): void;
}

function GroupField({ group, sources, all, depth, full, onChange }: GroupProps) {
  const replace = (index: number, part: Part | null) => onChange({ ...group, parts: group.parts.flatMap((one, at) => (at !== index ? [one] : part === null ? [] : [part])) });
  const add = (part: Part) => onChange({ ...group, parts: [...group.parts, part] });
  return (
    <div class={depth === 1 ? "when" : "when is-inner"} role="group" aria-label={depth === 1 ? "Shown when" : "Group of conditions"}>
      <div class="when-join">
        <span>{depth === 1 ? "Show it when" : "where"}</span>
        {group.parts.length > 1 && <Pick silent label="Combine with" value={group.join} options={JOINS} onChange={(join) => onChange({ ...group, join: join as Join })} />}
      </div>
      <ul class="when-parts">
        {group.parts.map((part, index) => (
          <li key={index} class="when-part">
            {isGroup(part) ? (
              <GroupField group={part} sources={sources} all={all} depth={2} full={full} onChange={(next) => replace(index, next.parts.length === 0 ? null : next)} />
            ) : (
              <ComparisonField comparison={part} sources={sources} source={all.get(part.step) ?? null} onChange={(next) => replace(index, next)} />
            )}
          </li>
        ))}
      </ul>
      {sources.length > 0 && (
        <div class="actions">
          <button type="button" class="button button-quiet" disabled={full} onClick={() => add(newComparison(sources))}>
            <Icon name="plus" />
            {depth === 1 ? "Another condition" : "Another one in this group"}
          </button>
          {depth === 1 && (
            <button type="button" class="button button-quiet" disabled={full} onClick={() => add({ join: group.join === "all" ? "any" : "all", parts: [newComparison(sources)] })}>
              <Icon name="plus" />A group
            </button>
          )}
          {full && <span class="quiet small">A condition has at most {LIMITS.comparisons} comparisons.</span>}
        </div>
      )}
    </div>
  );
}

interface ComparisonProps {
  comparison: Comparison;
  sources: readonly DraftStep[];
  source: DraftStep | null;
  onChange(next: Comparison | null): void;
}

/** `exists` with true and with false are two operators in the user interface. */
const NOT_ANSWERED = "exists:false";

function ComparisonField({ comparison, sources, source, onChange }: ComparisonProps) {
  const options = sources.map((one) => ({ value: one.id, title: one.label.trim() || one.id }));
  const later = source !== null && !sources.includes(source) ? [{ value: source.id, title: `${source.label.trim() || source.id} (comes later)` }] : [];
  const operators = (source === null ? [] : AUTHORING[source.type].operators).flatMap((op) => [
    { value: op as string, title: source === null ? op : operatorText(op, source.type) },
    ...(op === "exists" ? [{ value: NOT_ANSWERED, title: "is not answered" }] : []),
  ]);
  const op = comparison.op === "exists" && comparison.value === false ? NOT_ANSWERED : comparison.op;
  const change = (next: Partial<Comparison>, of = source) => of !== null && onChange(changedComparison(comparison, next, of));
  return (
    <div class="comparison">
      <Pick
        silent
        label="Compared step"
        empty="Choose a step"
        value={comparison.step}
        options={[...options, ...later]}
        onChange={(id) => {
          const next = sources.find((one) => one.id === id);
          if (next) change({ step: id }, next);
        }}
      />
      {comparison.step !== "" && (
        <Pick
          silent
          label="Operator"
          value={op}
          options={operators}
          onChange={(next) => change(next === NOT_ANSWERED ? { op: "exists", value: false } : next === "exists" ? { op: "exists", value: true } : { op: next as Operator })}
        />
      )}
      {source !== null && comparison.op !== "exists" && <ValueField comparison={comparison} source={source} onChange={(value) => onChange({ ...comparison, value })} />}
      <button type="button" class="button button-quiet button-icon" aria-label="Remove this condition" title="Remove this condition" onClick={() => onChange(null)}>
        <Icon name="close" />
      </button>
    </div>
  );
}

interface ValueProps {
  comparison: Comparison;
  source: DraftStep;
  onChange(value: Comparison["value"]): void;
}

/** A value that is not chosen yet is null. */
function ValueField({ comparison: { op, value }, source, onChange }: ValueProps) {
  const label = "Compared value";
  const empty = "Choose an answer";
  const shown = value === null ? "" : String(value);
  const typed = (text: string) => onChange((text === "" ? null : text) as string);
  const list = op === "in" || op === "not_in";
  const options = (source.config?.options ?? []).map((one) => ({ value: one.id, title: one.label.trim() || one.id }));
  const { compared = "text" } = AUTHORING[source.type];
  if (compared === "truth") {
    const words = [
      { value: "true", title: source.config?.true_label || "Yes" },
      { value: "false", title: source.config?.false_label || "No" },
    ];
    return <Pick silent label={label} empty={empty} value={shown} options={words} onChange={(next) => onChange(next === "true")} />;
  }
  if (compared === "option") {
    if (!list) return <Pick silent label={label} empty={empty} value={shown} options={options} onChange={onChange} />;
    const chosen = Array.isArray(value) ? value.map(String) : [];
    const toggle = (id: string, on: boolean) => onChange(options.map((one) => one.value).filter((one) => (one === id ? on : chosen.includes(one))));
    return (
      <div class="value-list" role="group" aria-label={label}>
        {options.map((one) => (
          <label key={one.value} class="chip">
            <input type="checkbox" checked={chosen.includes(one.value)} disabled={chosen.length === 1 && chosen[0] === one.value} onChange={(event) => toggle(one.value, event.currentTarget.checked)} />
            <span>{one.title}</span>
          </label>
        ))}
      </div>
    );
  }
  if (compared === "number" || compared === "integer") {
    if (list) return <NumberList value={Array.isArray(value) ? value.map(Number) : []} onChange={onChange} />;
    return (
      <div class="value">
        <Amount label={label} value={typeof value === "number" ? value : null} whole={compared === "integer"} onChange={(next) => next !== undefined && onChange(next)} />
      </div>
    );
  }
  return <input class="input" type={compared as "text"} aria-label={label} value={shown} onInput={(event) => typed(event.currentTarget.value)} />;
}

/** Numbers separated by spaces or semicolons. */
function NumberList({ value, onChange }: { value: readonly number[]; onChange(value: number[]): void }) {
  const take = (text: string) => {
    const numbers = text.split(/[\s;]+/).filter((one) => one !== "").map((one) => Number(one.replace(",", ".")));
    if (numbers.length > 0 && numbers.every((one) => Number.isFinite(one))) onChange(numbers);
  };
  return <input class="input" type="text" aria-label="Compared values, separated by spaces" defaultValue={value.join(" ")} onChange={(event) => take(event.currentTarget.value)} />;
}
