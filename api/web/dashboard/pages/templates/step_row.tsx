/** One step in the outline: a row that expands to its form. */
import {
  AUTHORING,
  duplicateStep,
  moveStep,
  noMoreSteps,
  nudgeStep,
  positionText,
  removeStep,
  type Anchored,
  type DraftStep,
} from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { Menu } from "../../parts/menu";
import { toast } from "../../parts/toast";
import { focusSoon, labelId, rowId } from "./focus";
import { memo } from "./memo";
import { startDrag } from "./row_drag";
import { StepForm } from "./step_form";
import type { EditorState } from "./editor_state";

interface RowProps {
  editor: EditorState;
  step: DraftStep;
  section: number;
  index: number;
  isLast: boolean;
  isOpen: boolean;
  readOnly: boolean;
  /** The condition as text; "" means always. */
  shownWhen: string;
  problems: readonly Anchored[];
  isBroken: boolean;
}

export const StepRow = memo(function StepRow({ editor, step, section, index, isLast, isOpen, readOnly, shownWhen, problems, isBroken }: RowProps) {
  const name = step.label.trim() || "Step without a label";
  const formId = `form-${step.id}`;
  const wrong = problems.length > 0 || isBroken;
  const onKeyDown = (event: KeyboardEvent) => {
    if (readOnly || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    nudge(editor, step, event.key === "ArrowUp" ? -1 : 1, rowId(step.id));
  };
  return (
    <li class={wrong ? "row is-wrong" : "row"} data-row={`${section}.${index}`}>
      <div class="row-head">
        {!readOnly && (
          <span
            class="grip"
            aria-hidden="true"
            title="Drag to move"
            onPointerDown={(event) =>
              startDrag(event, (to) => {
                const next = moveStep(editor.draft.peek(), step.id, to);
                editor.change(next);
                editor.announce(`Moved ${name} to ${positionText(next, step.id)}.`);
              })
            }
          />
        )}
        <button
          type="button"
          id={rowId(step.id)}
          class="row-open"
          aria-expanded={isOpen}
          aria-controls={isOpen ? formId : undefined}
          aria-keyshortcuts={readOnly ? undefined : "Alt+ArrowUp Alt+ArrowDown"}
          onClick={() => (editor.open.value = isOpen ? null : step.id)}
          onKeyDown={onKeyDown}
        >
          <Icon name={AUTHORING[step.type].icon} />
          <span class="row-text">
            <span class={step.label.trim() === "" ? "row-label quiet" : "row-label"} dir="auto">
              {name}
            </span>
            <span class="row-facts quiet small">
              <span>{AUTHORING[step.type].name}</span>
              {step.required && <span>required</span>}
              {step.photo && <span>photos</span>}
              {step.geo && <span>location</span>}
              {shownWhen !== "" && <span class="row-when">when {shownWhen}</span>}
              {wrong && (
                <span class="row-wrong">
                  <Icon name="alert" />
                  {problems[0]?.message ?? "Fix its condition."}
                </span>
              )}
            </span>
          </span>
        </button>
        {!readOnly && (
          <div class="row-actions">
            <button type="button" id={`${rowId(step.id)}-up`} class="button button-quiet button-icon" aria-label={`Move up: ${name}`} title="Move up (Alt + ↑)" disabled={section === 0 && index === 0} onClick={() => nudge(editor, step, -1, `${rowId(step.id)}-up`)}>
              <Icon name="up" />
            </button>
            <button type="button" id={`${rowId(step.id)}-down`} class="button button-quiet button-icon" aria-label={`Move down: ${name}`} title="Move down (Alt + ↓)" disabled={isLast} onClick={() => nudge(editor, step, 1, `${rowId(step.id)}-down`)}>
              <Icon name="down" />
            </button>
            <StepMenu editor={editor} step={step} name={name} section={section} />
          </div>
        )}
      </div>
      {isOpen && (
        <div id={formId} class="row-form">
          <StepForm editor={editor} step={step} problems={problems} />
        </div>
      )}
    </li>
  );
});

function nudge(editor: EditorState, step: DraftStep, by: 1 | -1, focus: string): void {
  const name = step.label.trim() || "The step";
  const next = nudgeStep(editor.draft.peek(), step.id, by);
  if (next === null) return editor.announce(`${name} is ${by < 0 ? "the first step" : "the last step"} already.`);
  editor.change(next);
  editor.announce(`Moved ${name} to ${positionText(next, step.id)}.`);
  // At the first or last position the pressed button is disabled, so the row gets the focus.
  const button = document.getElementById(focus);
  focusSoon(button instanceof HTMLButtonElement && nudgeStep(next, step.id, by) === null ? rowId(step.id) : focus);
}

function StepMenu({ editor, step, name, section }: { editor: EditorState; step: DraftStep; name: string; section: number }) {
  return (
    <Menu label={`More for ${name}`} face={<span class="dots">…</span>} class="row-menu">
      {(close) => <StepActions editor={editor} step={step} name={name} section={section} close={close} />}
    </Menu>
  );
}

function StepActions({ editor, step, name, section, close }: { editor: EditorState; step: DraftStep; name: string; section: number; close(): void }) {
  const draft = editor.draft.value;
  const full = noMoreSteps(draft);
  const duplicate = () => {
    close();
    if (full !== null) return toast(full, "bad");
    const made = duplicateStep(editor.draft.peek(), step.id);
    if (made === null) return;
    editor.change(made.draft);
    editor.open.value = made.id;
    editor.announce(`Duplicated ${name}.`);
    focusSoon(labelId(made.id));
  };
  const moveTo = (to: number) => {
    close();
    const next = moveStep(editor.draft.peek(), step.id, { section: to, step: draft.sections[to]?.steps.length ?? 0 });
    editor.change(next);
    editor.announce(`Moved ${name} to ${positionText(next, step.id)}.`);
    focusSoon(rowId(step.id));
  };
  const remove = () => {
    close();
    const steps = draft.sections[section]?.steps ?? [];
    const at = steps.findIndex((one) => one.id === step.id);
    const next = steps[at + 1] ?? steps[at - 1];
    editor.change(removeStep(editor.draft.peek(), step.id));
    editor.announce(`Deleted ${name}. Undo brings it back.`);
    focusSoon(next ? rowId(next.id) : `add-${draft.sections[section]?.id ?? ""}`);
  };
  return (
    <>
      <button type="button" onClick={duplicate}>
        Duplicate
      </button>
      {draft.sections.map(
        (one, index) =>
          index !== section && (
            <button key={one.id} type="button" onClick={() => moveTo(index)}>
              Move to “{one.title.trim() || `Section ${index + 1}`}”
            </button>
          ),
      )}
      <button type="button" onClick={remove}>
        Delete
      </button>
    </>
  );
}
