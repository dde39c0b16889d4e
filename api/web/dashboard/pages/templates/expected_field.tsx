/** What a step expects, and what it asks for if the answer is another one. */
import { optionsOf, ratingBounds } from "../../../core";
import { AUTHORING, completeStep, withConfig, type DraftStep, type StepConfig } from "../../../core/authoring";
import { MAX_PHOTOS_PER_STEP } from "../../../core/bounds";
import type { Expected } from "../../../core/types";
import { boundsIn, type ConfigField } from "../../../core/step_types/kind";
import { FieldError } from "../../../kit/controls/messages";
import { Amount, Pick, Tick } from "./editor_fields";
import { problemAt, type StepFormProps } from "./step_form";

type Form = Extract<ConfigField, { readonly kind: "expected" }>["form"];

export function ExpectedField({ editor, step, problems }: StepFormProps) {
  const form = AUTHORING[step.type].fields?.find((field) => field.kind === "expected")?.form;
  if (form === undefined) return null;
  const { expected, on_flag } = step.config ?? {};
  const put = (change: ConfigChange) => editor.change(withConfig(editor.draft.peek(), step, change), `${step.id}.expected`);
  const photos = on_flag?.photos ?? null;
  return (
    <div class="field">
      <Tick
        label="Expect an answer"
        hint="Another answer is accepted too, and flagged."
        checked={expected !== undefined}
        error={expected === undefined ? problemAt(problems, "config.expected") : undefined}
        onChange={(on) => put(on ? { expected: firstOf(form, step) } : { expected: undefined, on_flag: undefined })}
      />
      {expected !== undefined && (
        <div class="is-indented form">
          <ExpectedValue form={form} step={step} expected={expected} problems={problems} onChange={(next) => put({ expected: next })} />
          <Tick
            label="Ask for a note if flagged"
            hint="The checklist cannot be completed without it."
            checked={on_flag?.note ?? false}
            error={problemAt(problems, "config.on_flag.note")}
            onChange={(note) => put({ on_flag: asked({ note, photos }) })}
          />
          <Tick
            label="Ask for photos if flagged"
            checked={photos !== null}
            error={problemAt(problems, "config.on_flag.photos")}
            onChange={(on) => put({ on_flag: asked({ note: on_flag?.note ?? false, photos: on ? { min: 1, max: 3 } : null }) })}
          />
          {photos !== null && (
            <div class="two is-indented">
              <Amount label="Minimum photos" value={photos.min ?? 0} min={0} max={MAX_PHOTOS_PER_STEP} whole onChange={(min) => put({ on_flag: asked({ note: on_flag?.note ?? false, photos: { ...photos, min: min ?? 0 } }) })} />
              <Amount label="Maximum photos" value={photos.max ?? MAX_PHOTOS_PER_STEP} min={1} max={MAX_PHOTOS_PER_STEP} whole onChange={(max) => put({ on_flag: asked({ note: on_flag?.note ?? false, photos: { ...photos, max: max ?? MAX_PHOTOS_PER_STEP } }) })} />
            </div>
          )}
        </div>
      )}
    </div>
  );
}

type ConfigChange = { readonly [Name in "expected" | "on_flag"]?: StepConfig[Name] | undefined };
type Photos = NonNullable<StepConfig["on_flag"]>["photos"];

function asked({ note, photos }: { note: boolean; photos: Photos | null }): StepConfig["on_flag"] | undefined {
  return note || photos ? { note, ...(photos ? { photos } : {}) } : undefined;
}

function firstOf(form: Form, step: DraftStep): Expected {
  switch (form) {
    case "truth":
      return true;
    case "options":
      return optionsOf(completeStep(step)).slice(0, 1).map(({ id }) => id);
    case "range":
      return { min: step.config?.min ?? 0 };
    case "grades":
      return { min: Math.min(3, ratingBounds(completeStep(step)).max) };
    case "days":
      return { not_before: 0 };
  }
}

interface ExpectedValueProps {
  form: Form;
  step: DraftStep;
  expected: Expected;
  problems: StepFormProps["problems"];
  onChange(expected: Expected): void;
}

function ExpectedValue({ form, step, expected, problems, onChange }: ExpectedValueProps) {
  const whole = problems.find((problem) => problem.field === "config.expected")?.message;
  const config = step.config ?? {};
  if (form === "truth") {
    const options = [
      { value: "true", title: config.true_label || "Yes" },
      { value: "false", title: config.false_label || "No" },
    ];
    return <Pick label="Expected answer" value={String(expected)} options={options} error={whole} onChange={(value) => onChange(value === "true")} />;
  }
  if (form === "options") {
    const chosen: readonly unknown[] = Array.isArray(expected) ? expected : [];
    const options = optionsOf(completeStep(step));
    return (
      <fieldset class="field">
        <legend class="label">Expected options</legend>
        {options.map(({ id, label }, index) => (
          <Tick
            key={id}
            label={label.trim() || `Option ${index + 1}`}
            checked={chosen.includes(id)}
            onChange={(on) => onChange(options.flatMap((one) => ((one.id === id ? on : chosen.includes(one.id)) ? [one.id] : [])))}
          />
        ))}
        {problemAt(problems, "config.expected") && <FieldError id={`expected-${step.id}`}>{problemAt(problems, "config.expected")}</FieldError>}
      </fieldset>
    );
  }
  const bounds = boundsIn(expected);
  const put = (name: string, value: number | undefined) => {
    const { [name]: _, ...rest } = bounds as Readonly<Record<string, number>>;
    onChange(value === undefined ? rest : { ...rest, [name]: value });
  };
  const [low, high] = form === "days" ? (["not_before", "not_after"] as const) : (["min", "max"] as const);
  const labels = form === "days" ? ["Not before (days from today)", "Not after (days from today)"] : ["Expected from", "Expected to"];
  const integers = form === "range" ? {} : { whole: true };
  const limits = form === "days" ? { min: -36_500, max: 36_500 } : {};
  return (
    <div class="two">
      <Amount label={labels[0] ?? ""} value={bounds[low]} none="any" {...integers} {...limits} error={problemAt(problems, `config.expected.${low}`) ?? whole} onChange={(value) => put(low, value)} />
      <Amount label={labels[1] ?? ""} value={bounds[high]} none="any" {...integers} {...limits} error={problemAt(problems, `config.expected.${high}`)} onChange={(value) => put(high, value)} />
    </div>
  );
}
