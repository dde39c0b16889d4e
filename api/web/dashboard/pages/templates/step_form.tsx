/** The form of one step. */
import { useState } from "preact/hooks";

import { kindOf, takesAnswer, type StepType } from "../../../core";
import { AUTHORING, LIMITS, freeId, renameStep, changeStepType, withConfig, withStep, type Anchored, type DraftStep } from "../../../core/authoring";
import { MAX_PHOTOS_PER_STEP } from "../../../core/bounds";
import type { ConfigField } from "../../../core/step_types/kind";
import { Icon } from "../../../kit/controls/icon";
import { ConditionField } from "./condition_field";
import { ExpectedField } from "./expected_field";
import { Amount, Line, Pick, Tick } from "./editor_fields";
import { focusSoon, labelId } from "./focus";
import type { EditorState } from "./editor_state";

export interface StepFormProps {
  editor: EditorState;
  step: DraftStep;
  problems: readonly Anchored[];
}

/** Problems of a field or of anything within it. */
export function problemAt(problems: readonly Anchored[], field: string): string | undefined {
  return problems.find((problem) => problem.field === field || problem.field.startsWith(`${field}.`) || problem.field.startsWith(`${field}[`))?.message;
}

export function StepForm({ editor, step, problems }: StepFormProps) {
  const put = (change: Parameters<typeof withStep>[2], field: string) => editor.change(withStep(editor.draft.peek(), step.id, change), `${step.id}.${field}`);
  const asks = takesAnswer(step);
  return (
    <fieldset class="step-form form" disabled={editor.readOnly.value}>
      <legend class="vh">The step “{step.label}”</legend>
      <Line
        id={labelId(step.id)}
        label={asks ? "Question" : "Text"}
        value={step.label}
        limit={LIMITS.title}
        placeholder={asks ? "Is the fridge below 5 °C?" : "Wear gloves."}
        error={problemAt(problems, "label")}
        onInput={(label) => put({ label }, "label")}
      />
      <div class="two">
        <Pick label="Step type" value={step.type} options={TYPES} error={problemAt(problems, "type")} onChange={(type) => editor.change(changeStepType(editor.draft.peek(), step, type as StepType))} />
        <Line label="Hint (optional)" value={step.hint ?? ""} limit={LIMITS.hint} error={problemAt(problems, "hint")} onInput={(hint) => put({ hint: hint === "" ? null : hint }, "hint")} />
      </div>
      <ConfigFields editor={editor} step={step} problems={problems} />
      {asks && (
        <>
          <Tick label="Required" hint="The checklist cannot be completed without it." checked={step.required ?? false} error={problemAt(problems, "required")} onChange={(required) => put({ required }, "required")} />
          {kindOf(step).takes === undefined && <PhotoField editor={editor} step={step} problems={problems} />}
          <Pick
            label="Location"
            value={step.geo_required ? "required" : step.geo ? "asked" : "none"}
            options={LOCATIONS}
            error={problemAt(problems, "geo_required") ?? problemAt(problems, "geo")}
            onChange={(value) => put({ geo: value !== "none", geo_required: value === "required" }, "geo")}
          />
          <ExpectedField editor={editor} step={step} problems={problems} />
        </>
      )}
      <ConditionField editor={editor} step={step} error={problemAt(problems, "condition")} />
      <IdField editor={editor} step={step} error={problemAt(problems, "id")} />
    </fieldset>
  );
}

const TYPES = Object.entries(AUTHORING).map(([value, { name }]) => ({ value, title: name }));

const LOCATIONS = [
  { value: "none", title: "None" },
  { value: "asked", title: "Optional" },
  { value: "required", title: "Required" },
];

function PhotoField({ editor, step, problems }: StepFormProps) {
  const photo = step.photo || null;
  const put = (next: DraftStep["photo"]) => editor.change(withStep(editor.draft.peek(), step.id, { photo: next ?? false }), `${step.id}.photo`);
  return (
    <div class="field">
      <Tick label="Photos with the answer" checked={photo !== null} error={problemAt(problems, "photo")} onChange={(on) => put(on ? { min: 1, max: 3 } : false)} />
      {photo !== null && (
        <div class="two is-indented">
          <Amount label="Minimum photos" value={photo.min ?? 0} min={0} max={MAX_PHOTOS_PER_STEP} whole onChange={(min) => put({ ...photo, min: min ?? 0 })} />
          <Amount label="Maximum photos" value={photo.max ?? MAX_PHOTOS_PER_STEP} min={1} max={MAX_PHOTOS_PER_STEP} whole onChange={(max) => put({ ...photo, max: max ?? MAX_PHOTOS_PER_STEP })} />
        </div>
      )}
    </div>
  );
}

type SingleField = Exclude<ConfigField, { readonly kind: "options" | "expected" | "on_flag" }>;

function isSingle(field: ConfigField): field is SingleField {
  return field.kind !== "options" && field.kind !== "expected" && field.kind !== "on_flag";
}

/** The fields of the step's type. */
function ConfigFields({ editor, step, problems }: StepFormProps) {
  const fields = AUTHORING[step.type].fields ?? [];
  const single = fields.flatMap((field) => (isSingle(field) && field.label !== undefined ? [{ ...field, label: field.label }] : []));
  const put = (name: string, value: unknown) => editor.change(withConfig(editor.draft.peek(), step, { [name]: value === "" ? undefined : value }), `${step.id}.${name}`);
  const whole = problemAt(problems.filter((problem) => problem.field === "config"), "config");
  return (
    <>
      {fields.some((field) => field.kind === "options") && <OptionsField editor={editor} step={step} problems={problems} />}
      {single.length > 0 && (
        <div class={single.length > 2 ? "four" : "two"}>
          {single.map((field) => {
            const { name, label } = field;
            // A problem of the bounds as a whole is shown at the first of them.
            const common = { label, error: problemAt(problems, `config.${name}`) ?? (name === "min" ? whole : undefined) };
            if (field.kind === "flag") return <Tick key={name} {...common} hint={field.hint} checked={step.config?.[field.name] ?? false} onChange={(value) => put(name, value || undefined)} />;
            if (field.kind === "text") {
              return <Line key={name} {...common} value={step.config?.[field.name] ?? ""} limit={field.limit ?? 200} placeholder={field.placeholder ?? ""} onInput={(value) => put(name, value)} />;
            }
            const { none, kind: _, ...bounds } = field;
            return <Amount key={name} {...bounds} {...common} value={step.config?.[field.name]} none={typeof none === "string" ? none : none(step)} onChange={(value) => put(name, value)} />;
          })}
        </div>
      )}
    </>
  );
}

function OptionsField({ editor, step, problems }: StepFormProps) {
  const options = step.config?.options ?? [];
  const put = (next: typeof options, key = "") => editor.change(withConfig(editor.draft.peek(), step, { options: next }), key);
  const inputId = (id: string) => `option-${step.id}-${id}`;
  const insert = (at: number) => {
    const id = freeId("o", "", new Set(options.map((one) => one.id)));
    put(options.toSpliced(at, 0, { id, label: "" }));
    focusSoon(inputId(id));
  };
  /** Goes to the next option: an empty one that is there already, else a new one. */
  const next = (index: number) => {
    const following = options[index + 1];
    if (following?.label === "") focusSoon(inputId(following.id));
    else if (options.length < LIMITS.options) insert(index + 1);
  };
  const move = (index: number, by: 1 | -1) => {
    const next = [...options];
    const [one] = next.splice(index, 1);
    if (one === undefined || index + by < 0 || index + by > next.length) return;
    next.splice(index + by, 0, one);
    put(next);
    editor.announce(`Option ${one.label || index + 1} is at position ${index + by + 1} of ${next.length}.`);
    focusSoon(inputId(one.id));
  };
  const remove = (index: number) => {
    const { expected } = step.config ?? {};
    const left = Array.isArray(expected) ? { expected: expected.filter((id) => id !== options[index]?.id) } : {};
    editor.change(withConfig(editor.draft.peek(), step, { options: options.filter((_, at) => at !== index), ...left }), "");
    const neighbour = options[index + 1] ?? options[index - 1];
    focusSoon(neighbour ? inputId(neighbour.id) : `options-add-${step.id}`);
  };
  const whole = problems.find((problem) => problem.field === "config.options")?.message;
  return (
    <fieldset class="field">
      <legend class="label">Options</legend>
      <ol class="options-list">
        {options.map((option, index) => {
          const error = problemAt(problems, `config.options[${index}]`);
          return (
            <li key={option.id} class="option-row">
              <input
                class="input"
                id={inputId(option.id)}
                aria-label={`Option ${index + 1}`}
                aria-invalid={Boolean(error)}
                title={error}
                dir="auto"
                autocomplete="off"
                value={option.label}
                placeholder={`Option ${index + 1}`}
                onInput={(event) => put(options.map((one) => (one.id === option.id ? { ...one, label: event.currentTarget.value } : one)), `${step.id}.${option.id}`)}
                onKeyDown={(event) => {
                  if (event.key === "Enter") {
                    event.preventDefault();
                    next(index);
                  }
                  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
                    event.preventDefault();
                    move(index, event.key === "ArrowUp" ? -1 : 1);
                  }
                }}
              />
              <button type="button" class="button button-quiet button-icon" aria-label={`Move option ${index + 1} up`} title="Move up (Alt + ↑)" disabled={index === 0} onClick={() => move(index, -1)}>
                <Icon name="up" />
              </button>
              <button type="button" class="button button-quiet button-icon" aria-label={`Move option ${index + 1} down`} title="Move down (Alt + ↓)" disabled={index === options.length - 1} onClick={() => move(index, 1)}>
                <Icon name="down" />
              </button>
              <button type="button" class="button button-quiet button-icon" aria-label={`Remove option ${index + 1}`} title="Remove" onClick={() => remove(index)}>
                <Icon name="close" />
              </button>
              {error && <p class="error small">{error}</p>}
            </li>
          );
        })}
      </ol>
      {whole && <p class="error small">{whole}</p>}
      <div class="actions">
        <button type="button" class="button" id={`options-add-${step.id}`} disabled={options.length >= LIMITS.options} onClick={() => insert(options.length)}>
          <Icon name="plus" />
          Add an option
        </button>
        {options.length >= LIMITS.options && <span class="quiet small">A step has at most {LIMITS.options} options.</span>}
      </div>
    </fieldset>
  );
}

/** The id is the key of the answer in the API and in events. */
function IdField({ editor, step, error }: { editor: EditorState; step: DraftStep; error: string | undefined }) {
  const [typed, setTyped] = useState<string | null>(null);
  const given = typed ?? step.id;
  const taken = given !== step.id && (editor.steps.value.has(given) || editor.draft.value.sections.some((section) => section.id === given));
  const problem = !/^s-[A-Za-z0-9_-]{1,64}$/.test(given) ? "Must be s- and 1 to 64 of A-Z a-z 0-9 _ -." : taken ? "Another step has this id." : undefined;
  const apply = () => {
    if (typed === null || problem !== undefined || typed === step.id) return;
    editor.change(renameStep(editor.draft.peek(), step.id, typed));
    editor.open.value = typed;
  };
  return (
    <details class="more" open={Boolean(error)}>
      <summary>For developers</summary>
      <div onFocusOut={apply}>
        <Line label="Id" value={given} hint="Key of the answer in the API and in events. Open runs keep the old id." error={problem ?? error} onInput={setTyped} />
      </div>
    </details>
  );
}
