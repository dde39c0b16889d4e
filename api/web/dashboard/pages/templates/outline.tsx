/** Sections and their steps. Long lists are rendered in the browser's idle time. */
import { useEffect, useMemo, useState } from "preact/hooks";

import {
  LIMITS,
  addSection,
  addStep,
  conditionText,
  countSteps,
  noMoreSections,
  noMoreSteps,
  nudgeSection,
  removeSection,
  titleOfSection,
  withSection,
  type Anchored,
  type DraftSection,
} from "../../../core/authoring";
import type { StepType } from "../../../core";
import { Icon } from "../../../kit/controls/icon";
import { whenIdle } from "../../../kit/idle";
import { counted } from "../../parts/progress";
import { Line } from "./editor_fields";
import { focusSoon, labelId, titleId } from "./focus";
import { problemAt } from "./step_form";
import { StepRow } from "./step_row";
import { TypePicker } from "./type_picker";
import type { EditorState } from "./editor_state";

const FIRST_ROWS = 40;
const MORE_ROWS = 60;
const NONE: readonly Anchored[] = [];

export function Outline({ editor, asksFirst = false }: { editor: EditorState; asksFirst?: boolean }) {
  const draft = editor.draft.value;
  const total = countSteps(draft);
  const drawn = useDrawn(total, editor.open.value === null ? 0 : [...editor.steps.value.keys()].indexOf(editor.open.value) + 1);
  const problems = useMemo(() => byOwner(editor.problems.value), [editor.problems.value]);
  const broken = useMemo(() => new Set(editor.broken.value.map((one) => one.step.id)), [editor.broken.value]);
  const readOnly = editor.readOnly.value;
  const [adding, setAdding] = useState<number | null>(asksFirst && total === 0 ? 0 : null);
  const full = noMoreSections(draft);
  const add = (after: number) => {
    const made = addSection(editor.draft.peek(), after);
    editor.change(made.draft);
    focusSoon(titleId(made.id));
  };
  const pick = (type: StepType) => {
    const section = adding ?? 0;
    const made = addStep(editor.draft.peek(), type, { section, step: editor.draft.peek().sections[section]?.steps.length ?? 0 });
    editor.change(made.draft);
    editor.open.value = made.id;
    setAdding(null);
    focusSoon(labelId(made.id));
  };
  let position = 0;
  return (
    <div class="outline">
      <p class="quiet small tabular" role="status">
        {counted(draft.sections.length, "section")}, {counted(total, "step")} of at most {LIMITS.steps}
      </p>
      {draft.sections.map((section, index) => {
        const first = position;
        position += section.steps.length;
        return (
          <SectionBox key={section.id} editor={editor} section={section} index={index} count={draft.sections.length} problems={problems.get(section.id) ?? NONE} readOnly={readOnly}>
            <ol class="rows" data-list={index}>
              {section.steps.slice(0, Math.max(0, drawn - first)).map((step, at) => (
                <StepRow
                  key={step.id}
                  editor={editor}
                  step={step}
                  section={index}
                  index={at}
                  isLast={index === draft.sections.length - 1 && at === section.steps.length - 1}
                  isOpen={editor.open.value === step.id}
                  readOnly={readOnly}
                  shownWhen={step.condition ? conditionText(step.condition.when, editor.steps.value) : ""}
                  problems={problems.get(step.id) ?? NONE}
                  isBroken={broken.has(step.id)}
                />
              ))}
              {section.steps.length === 0 && <li class="quiet no-steps">No steps yet.</li>}
            </ol>
            {!readOnly && <AddStep editor={editor} section={section} onAdd={() => setAdding(index)} />}
          </SectionBox>
        );
      })}
      {!readOnly && (
        <div class="actions">
          <button type="button" id="add-section" class="button" disabled={full !== null} onClick={() => add(draft.sections.length - 1)}>
            <Icon name="plus" />
            Add a section
          </button>
          {full !== null && <span class="quiet small">{full}</span>}
        </div>
      )}
      {adding !== null && <TypePicker title={total === 0 ? "Add the first question" : "Add a step"} onPick={pick} onClose={() => setAdding(null)} />}
    </div>
  );
}

function AddStep({ editor, section, onAdd }: { editor: EditorState; section: DraftSection; onAdd(): void }) {
  const full = noMoreSteps(editor.draft.value);
  return (
    <div class="actions">
      <button type="button" id={`add-${section.id}`} class="button" disabled={full !== null} onClick={onAdd}>
        <Icon name="plus" />
        Add a step<span class="vh"> to {section.title.trim() || "this section"}</span>
      </button>
      {full !== null && <span class="quiet small">{full}</span>}
    </div>
  );
}

interface SectionBoxProps {
  editor: EditorState;
  section: DraftSection;
  index: number;
  count: number;
  problems: readonly Anchored[];
  readOnly: boolean;
  children: preact.ComponentChildren;
}

function SectionBox({ editor, section, index, count, problems, readOnly, children }: SectionBoxProps) {
  const name = section.title.trim() || `Section ${index + 1}`;
  const nudge = (by: 1 | -1, focus: string) => {
    const next = nudgeSection(editor.draft.peek(), section.id, by);
    if (next === null) return;
    editor.change(next);
    editor.announce(`Moved the section ${name} to position ${index + by + 1} of ${count}.`);
    focusSoon(nudgeSection(next, section.id, by) === null ? titleId(section.id) : focus);
  };
  const remove = () => {
    const neighbour = editor.draft.peek().sections[index + 1] ?? editor.draft.peek().sections[index - 1];
    editor.change(removeSection(editor.draft.peek(), section.id));
    editor.announce(`Deleted the section ${name} with ${counted(section.steps.length, "step")}. Undo brings it back.`);
    focusSoon(neighbour ? titleId(neighbour.id) : "add-section");
  };
  return (
    <section class="section section-box" aria-label={`Section: ${name}`}>
      <div class="section-line">
        <fieldset disabled={readOnly}>
          <Line
            id={titleId(section.id)}
            label="Section title"
            value={section.title}
            limit={LIMITS.title}
            replaced={section.title === titleOfSection(index + 1)}
            error={problemAt(problems, "title") ?? problems[0]?.message}
            onInput={(title) => editor.change(withSection(editor.draft.peek(), section.id, { title }), `${section.id}.title`)}
          />
        </fieldset>
        {!readOnly && (
          <div class="row-actions">
            <button type="button" id={`${titleId(section.id)}-up`} class="button button-quiet button-icon" aria-label={`Move the section up: ${name}`} title="Move up" disabled={index === 0} onClick={() => nudge(-1, `${titleId(section.id)}-up`)}>
              <Icon name="up" />
            </button>
            <button type="button" id={`${titleId(section.id)}-down`} class="button button-quiet button-icon" aria-label={`Move the section down: ${name}`} title="Move down" disabled={index === count - 1} onClick={() => nudge(1, `${titleId(section.id)}-down`)}>
              <Icon name="down" />
            </button>
            <button type="button" class="button button-quiet button-icon" aria-label={`Delete the section: ${name}`} title="Delete the section" onClick={remove}>
              <Icon name="trash" />
            </button>
          </div>
        )}
      </div>
      {children}
    </section>
  );
}

/** The number of rendered rows; those up to `wanted` are rendered at once. */
function useDrawn(total: number, wanted: number): number {
  const [drawn, setDrawn] = useState(FIRST_ROWS);
  useEffect(() => {
    if (drawn >= total) return;
    return whenIdle(() => setDrawn(drawn + MORE_ROWS));
  }, [drawn, total]);
  return Math.max(drawn, wanted);
}

function byOwner(problems: readonly Anchored[]): Map<string | null, readonly Anchored[]> {
  const found = new Map<string | null, readonly Anchored[]>();
  for (const problem of problems) found.set(problem.owner, [...(found.get(problem.owner) ?? []), problem]);
  return found;
}
