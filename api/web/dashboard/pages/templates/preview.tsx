/**
 * The checklist as the executor sees it: the executor app's components on an in-memory store. Answers are not stored;
 * conditions work.
 */
import { useEffect, useMemo, useState } from "preact/hooks";

import type { Section, ServerRun, Step, Template } from "../../../core";
import { completeTemplate, countSteps, hasUnfinishedCondition } from "../../../core/authoring";
import { createPage } from "../../../executor/page";
import { AppContext, useApp } from "../../../executor/context";
import { memoryStore } from "../../../executor/fixture/memory_store";
import { StepCard } from "../../../executor/views/step_card";
import { organization } from "../../session";
import { memo } from "./memo";
import type { EditorState } from "./editor_state";

/** Debounces updates of the preview while the person types. */
const AFTER_MS = 250;
const Card = memo(({ step, position }: { step: Step; position: number }) => <StepCard step={step} position={position} />);

export function Preview({ editor }: { editor: EditorState }) {
  const [turn, setTurn] = useState(0);
  const app = useMemo(() => {
    const store = memoryStore(runOf(editor));
    return { store, page: createPage(store) };
  }, [editor, turn]);
  const template = app.store.run.value?.template;
  const draft = editor.draft.value;
  useEffect(() => {
    const timer = setTimeout(() => (app.store.run.value = runOf(editor)), AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, app]);
  const total = countSteps(draft);
  useEffect(() => app.page.drawAll(total), [app, total]);
  if (template === undefined) return null;
  let position = 0;
  return (
    <AppContext.Provider value={app}>
      <section class="preview" aria-label="Preview">
        <div class="preview-head">
          <h2>Preview</h2>
          <button type="button" class="button button-quiet" onClick={() => setTurn(turn + 1)}>
            Start over
          </button>
        </div>
        <div key={turn} class="phone as-executor" tabIndex={0} role="group" aria-label="The checklist as the executor sees it">
          <p class="about small quiet">{organization.value?.name}</p>
          <p class="phone-title" dir="auto">
            {template.name.trim() || "Template without a name"}
          </p>
          {template.description && (
            <p class="prose quiet" dir="auto">
              {template.description}
            </p>
          )}
          <Meter />
          {template.sections.map((section) => {
            const first = position;
            position += section.steps.length;
            return <Group key={section.id} section={section} first={first} />;
          })}
          {total === 0 && <p class="quiet">Steps appear here as you add them.</p>}
          {template.settings.signature_on_complete && total > 0 && <p class="quiet small">At the end, the executor signs with their name.</p>}
        </div>
      </section>
    </AppContext.Provider>
  );
}

function Group({ section, first }: { section: Section; first: number }) {
  const { store } = useApp();
  const steps = section.steps;
  // Not a computed signal: it would depend on nothing while the section is empty, and miss the first step.
  const empty = !steps.some((step) => store.applicable.value.has(step.id));
  return (
    <div class={empty ? "group is-empty" : "group"}>
      <h3 class="phone-section" dir="auto">
        {section.title.trim() || "Section without a title"}
      </h3>
      <ol class="steps" role="list">
        {steps.map((step, index) => (
          <Card key={`${step.id} ${step.type}`} step={step} position={first + index} />
        ))}
      </ol>
    </div>
  );
}

function Meter() {
  const { store } = useApp();
  const { total, answered, skipped } = store.progress.value;
  return <p class="small quiet tabular">{`${answered + skipped} of ${total} done`}</p>;
}

/** Placeholders for missing labels: cards and buttons need a name. */
function named(template: Template): Template {
  return { ...template, sections: template.sections.map((section) => ({ ...section, steps: section.steps.map(shown) })) };
}

const withNames = new WeakMap<Step, Step>();

/** With names, and without a condition that is not finished. */
function shown(step: Step): Step {
  const options = step.config.options;
  const unfinished = hasUnfinishedCondition(step);
  if (step.label.trim() !== "" && !options?.some((option) => option.label.trim() === "") && !unfinished) return step;
  const known = withNames.get(step);
  if (known !== undefined) return known;
  const config = options ? { ...step.config, options: options.map((option, index) => (option.label.trim() === "" ? { ...option, label: `Option ${index + 1}` } : option)) } : step.config;
  const { condition, ...rest } = step;
  const made: Step = { ...rest, ...(condition && !unfinished && { condition }), label: step.label.trim() === "" ? "Step without a label" : step.label, config };
  withNames.set(step, made);
  return made;
}

function runOf(editor: EditorState): ServerRun {
  const at = new Date(0).toISOString();
  return {
    run_id: "r-preview",
    status: "in_progress",
    template_id: "t-preview",
    template_v: 1,
    template: named(completeTemplate(editor.draft.peek())),
    created_by_name: "",
    created_at: at,
    started_at: at,
    completed_at: null,
    cancelled_at: null,
    cancel_reason: null,
    expires_at: null,
    assigned_to: null,
    executor_identity: { mode: "anonymous" },
    answers: {},
    signature: null,
    skipped_steps: [],
    applicable_steps: [],
    missing_steps: [],
    progress: { total: 0, answered: 0, skipped: 0 },
    receipt: null,
  };
}
