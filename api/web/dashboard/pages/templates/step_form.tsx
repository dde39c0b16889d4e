/** Everything that can be said of one step. */
import { useState } from "preact/hooks";

import type { StepType } from "../../../core";
import { LIMITS, freeId, renameStep, retypeStep, withConfig, withStep, type Anchored, type DraftStep } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { ConditionField } from "./condition_field";
import { Amount, Line, Pick, Tick } from "./editor_fields";
import { focusSoon, labelId } from "./focus";
import { TYPE_OPTIONS } from "./step_types";
import type { Workshop } from "./workshop";

export interface StepFormProps {
  workshop: Workshop;
  step: DraftStep;
  problems: readonly Anchored[];
}

/** What the service said of a field, or of something within it. */
export function said(problems: readonly Anchored[], field: string): string | undefined {
  return problems.find((problem) => problem.field === field || problem.field.startsWith(`${field}.`) || problem.field.startsWith(`${field}[`))?.message;
}

export function StepForm({ workshop, step, problems }: StepFormProps) {
  const put = (change: Parameters<typeof withStep>[2], field: string) => workshop.change(withStep(workshop.draft.peek(), step.id, change), `${step.id}.${field}`);
  const asks = step.type !== "instruction";
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
        <Pick label="Kind" value={step.type} options={TYPE_OPTIONS} error={said(problems, "type")} onChange={(type) => workshop.change(retypeStep(workshop.draft.peek(), step, type as StepType))} />
        <Line label="Hint (optional)" value={step.hint ?? ""} limit={LIMITS.hint} error={said(problems, "hint")} onInput={(hint) => put({ hint: hint === "" ? null : hint }, "hint")} />
      </div>
      <ConfigFields workshop={workshop} step={step} problems={problems} />
      {asks && (
        <>
          <Tick label="Required" hint="The checklist cannot be completed without it." checked={step.required ?? false} error={said(problems, "required")} onChange={(required) => put({ required }, "required")} />
          {step.type !== "photo" && step.type !== "signature" && <PhotoField workshop={workshop} step={step} problems={problems} />}
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

function ConfigFields({ workshop, step, problems }: StepFormProps) {
  const config = step.config ?? {};
  const put = (name: string, value: unknown) => workshop.change(withConfig(workshop.draft.peek(), step, { [name]: value === "" ? undefined : value }), `${step.id}.${name}`);
  const error = (name: string) => said(problems, `config.${name}`);
  const word = (name: "true_label" | "false_label" | "low_label" | "high_label" | "placeholder" | "unit", label: string, placeholder: string, limit = 200) => (
    <Line label={label} value={config[name] ?? ""} limit={limit} placeholder={placeholder} error={error(name)} onInput={(value) => put(name, value)} />
  );
  const whole = said(problems.filter((problem) => problem.field === "config"), "config");
  switch (step.type) {
    case "boolean":
      return (
        <div class="two">
          {word("true_label", "Word for yes", "Yes")}
          {word("false_label", "Word for no", "No")}
        </div>
      );
    case "number":
      return (
        <div class="four">
          <Amount label="Lowest" value={config.min} none="any" error={error("min") ?? whole} onChange={(value) => put("min", value)} />
          <Amount label="Highest" value={config.max} none="any" error={error("max")} onChange={(value) => put("max", value)} />
          {word("unit", "Unit", "°C", 50)}
          <Amount label="Decimals" value={config.decimal} none="any" min={0} max={10} whole error={error("decimal")} onChange={(value) => put("decimal", value)} />
        </div>
      );
    case "rating":
      return (
        <div class="four">
          <Amount label="Lowest grade" value={config.min} none="1" min={-100} max={100} whole error={error("min") ?? whole} onChange={(value) => put("min", value)} />
          <Amount label="Highest grade" value={config.max} none="5" min={-100} max={100} whole error={error("max")} onChange={(value) => put("max", value)} />
          {word("low_label", "The lowest means", "Poor")}
          {word("high_label", "The highest means", "Excellent")}
        </div>
      );
    case "photo":
      return (
        <div class="two">
          <Amount label="Fewest photos" value={config.min} none="1" min={0} max={20} whole error={error("min") ?? whole} onChange={(value) => put("min", value)} />
          <Amount label="Most photos" value={config.max} none="20" min={1} max={20} whole error={error("max")} onChange={(value) => put("max", value)} />
        </div>
      );
    case "text":
      return (
        <div class="two">
          {word("placeholder", "Shown in the empty field (optional)", "", 500)}
          <Tick label="Long text" hint="Up to 4,000 characters instead of 500." checked={config.multiline ?? false} error={error("multiline")} onChange={(value) => put("multiline", value || undefined)} />
        </div>
      );
    case "choice":
    case "multi_choice":
      return (
        <>
          <OptionsField workshop={workshop} step={step} problems={problems} />
          {step.type === "multi_choice" && (
            <div class="two">
              <Amount label="Fewest to choose" value={config.min_selected} none={step.required ? "1" : "0"} min={0} max={100} whole error={error("min_selected")} onChange={(value) => put("min_selected", value)} />
              <Amount label="Most to choose" value={config.max_selected} none="all" min={1} max={100} whole error={error("max_selected")} onChange={(value) => put("max_selected", value)} />
            </div>
          )}
        </>
      );
    default:
      return null;
  }
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
