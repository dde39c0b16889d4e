/** The form of one step. */
import { useState } from "preact/hooks";

import { kindOf, takesAnswer, type StepType } from "../../../core";
import { AUTHORING, LIMITS, freeId, renameStep, retypeStep, withConfig, withStep, type Anchored, type DraftStep } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { ConditionField } from "./condition_field";
import { Amount, Line, Pick, Tick } from "./editor_fields";
import { focusSoon, labelId } from "./focus";
import type { Workshop } from "./workshop";

export interface StepFormProps {
  workshop: Workshop;
  step: DraftStep;
  problems: readonly Anchored[];
}

/** Problems of a field or of anything within it. */
export function said(problems: readonly Anchored[], field: string): string | undefined {
  return problems.find((problem) => problem.field === field || problem.field.startsWith(`${field}.`) || problem.field.startsWith(`${field}[`))?.message;
}

export function StepForm({ workshop, step, problems }: StepFormProps) {
  const put = (change: Parameters<typeof withStep>[2], field: string) => workshop.change(withStep(workshop.draft.peek(), step.id, change), `${step.id}.${field}`);
  const asks = takesAnswer(step);
  return (
    <fieldset class="step-form form" disabled={workshop.readOnly.value}>
      <legend class="vh">The step “{step.label}”</legend>
      <Line
        id={labelId(step.id)}
        label={asks ? "What is asked" : "What is to be read"}
        value={step.label}
        limit={LIMITS.title}
        placeholder={asks ? "Is the fridge below 5 °C?" : "Wear gloves."}
        error={said(problems, "label")}
        onInput={(label) => put({ label }, "label")}
      />
      <div class="two">
        <Pick label="Kind" value={step.type} options={TYPES} error={said(problems, "type")} onChange={(type) => workshop.change(retypeStep(workshop.draft.peek(), step, type as StepType))} />
        <Line label="Hint (optional)" value={step.hint ?? ""} limit={LIMITS.hint} error={said(problems, "hint")} onInput={(hint) => put({ hint: hint === "" ? null : hint }, "hint")} />
      </div>
      <ConfigFields workshop={workshop} step={step} problems={problems} />
      {asks && (
        <>
          <Tick label="Required" hint="The checklist cannot be completed without it." checked={step.required ?? false} error={said(problems, "required")} onChange={(required) => put({ required }, "required")} />
          {kindOf(step).takes === undefined && <PhotoField workshop={workshop} step={step} problems={problems} />}
          <Pick
            label="Location"
            value={step.geo_required ? "required" : step.geo ? "asked" : "none"}
            options={LOCATIONS}
            error={said(problems, "geo_required") ?? said(problems, "geo")}
            onChange={(value) => put({ geo: value !== "none", geo_required: value === "required" }, "geo")}
          />
        </>
      )}
      <ConditionField workshop={workshop} step={step} error={said(problems, "condition")} />
      <IdField workshop={workshop} step={step} error={said(problems, "id")} />
    </fieldset>
  );
}

const TYPES = Object.entries(AUTHORING).map(([value, { name }]) => ({ value, title: name }));

const LOCATIONS = [
  { value: "none", title: "Not asked for" },
  { value: "asked", title: "Asked for; may be refused" },
  { value: "required", title: "Required" },
];

function PhotoField({ workshop, step, problems }: StepFormProps) {
  const photo = step.photo || null;
  const put = (next: DraftStep["photo"]) => workshop.change(withStep(workshop.draft.peek(), step.id, { photo: next ?? false }), `${step.id}.photo`);
  return (
    <div class="field">
      <Tick label="Photos with the answer" checked={photo !== null} error={said(problems, "photo")} onChange={(on) => put(on ? { min: 1, max: 3 } : false)} />
      {photo !== null && (
        <div class="two is-indented">
          <Amount label="Fewest photos" value={photo.min ?? 0} min={0} max={20} whole onChange={(min) => put({ ...photo, min: min ?? 0 })} />
          <Amount label="Most photos" value={photo.max ?? 20} min={1} max={20} whole onChange={(max) => put({ ...photo, max: max ?? 20 })} />
        </div>
      )}
    </div>
  );
}

/** The fields of the step's type. */
function ConfigFields({ workshop, step, problems }: StepFormProps) {
  const fields = AUTHORING[step.type].fields ?? [];
  const single = fields.flatMap((field) => (field.kind !== "options" && field.label !== undefined ? [{ ...field, label: field.label }] : []));
  const put = (name: string, value: unknown) => workshop.change(withConfig(workshop.draft.peek(), step, { [name]: value === "" ? undefined : value }), `${step.id}.${name}`);
  const whole = said(problems.filter((problem) => problem.field === "config"), "config");
  return (
    <>
      {fields.some((field) => field.kind === "options") && <OptionsField workshop={workshop} step={step} problems={problems} />}
      {single.length > 0 && (
        <div class={single.length > 2 ? "four" : "two"}>
          {single.map((field) => {
            const { name, label } = field;
            // A problem of the bounds as a whole is shown at the first of them.
            const common = { label, error: said(problems, `config.${name}`) ?? (name === "min" ? whole : undefined) };
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

function OptionsField({ workshop, step, problems }: StepFormProps) {
  const options = step.config?.options ?? [];
  const put = (next: typeof options, key = "") => workshop.change(withConfig(workshop.draft.peek(), step, { options: next }), key);
  const inputId = (id: string) => `option-${step.id}-${id}`;
  const add = () => {
    const id = freeId("o", "", new Set(options.map((one) => one.id)));
    put([...options, { id, label: "" }]);
    focusSoon(inputId(id));
  };
  const move = (index: number, by: 1 | -1) => {
    const next = [...options];
    const [one] = next.splice(index, 1);
    if (one === undefined || index + by < 0 || index + by > next.length) return;
    next.splice(index + by, 0, one);
    put(next);
    workshop.say(`Option ${one.label || index + 1} is at position ${index + by + 1} of ${next.length}.`);
    focusSoon(inputId(one.id));
  };
  const remove = (index: number) => {
    put(options.filter((_, at) => at !== index));
    const neighbour = options[index + 1] ?? options[index - 1];
    focusSoon(neighbour ? inputId(neighbour.id) : `options-add-${step.id}`);
  };
  const whole = problems.find((problem) => problem.field === "config.options")?.message;
  return (
    <fieldset class="field">
      <legend class="label">Options</legend>
      <ol class="options-list">
        {options.map((option, index) => {
          const error = said(problems, `config.options[${index}]`);
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
                    if (options.length < LIMITS.options) add();
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
        <button type="button" class="button" id={`options-add-${step.id}`} disabled={options.length >= LIMITS.options} onClick={add}>
          <Icon name="plus" />
          Add an option
        </button>
        {options.length >= LIMITS.options && <span class="quiet small">A step has at most {LIMITS.options} options.</span>}
      </div>
    </fieldset>
  );
}

/** The id is the key of the answer in the API and in events. */
function IdField({ workshop, step, error }: { workshop: Workshop; step: DraftStep; error: string | undefined }) {
  const [typed, setTyped] = useState<string | null>(null);
  const given = typed ?? step.id;
  const taken = given !== step.id && (workshop.steps.value.has(given) || workshop.draft.value.sections.some((section) => section.id === given));
  const problem = !/^s-[A-Za-z0-9_-]{1,64}$/.test(given) ? "Must be s- and 1 to 64 of A-Z a-z 0-9 _ -." : taken ? "Another step has this id." : undefined;
  const apply = () => {
    if (typed === null || problem !== undefined || typed === step.id) return;
    workshop.change(renameStep(workshop.draft.peek(), step.id, typed));
    workshop.open.value = typed;
  };
  return (
    <details class="more" open={Boolean(error)}>
      <summary>For developers</summary>
      <div onFocusOut={apply}>
        <Line label="Id" value={given} hint="Key of the answer in the API and in events. Answers of runs that are under way keep the old one." error={problem ?? error} onInput={setTyped} />
      </div>
    </details>
  );
}
