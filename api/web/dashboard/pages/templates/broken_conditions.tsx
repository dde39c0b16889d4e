/** Conditions broken by a move, a deletion or a change of type, with ways to fix them. */
import { moveBehind, stepName, withStep, withoutSource, type Broken } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { counted } from "../../parts/progress";
import { focusSoon, rowId } from "./focus";
import type { EditorState } from "./editor_state";

const SHOWN = 5;

export function BrokenConditions({ editor }: { editor: EditorState }) {
  const broken = editor.broken.value;
  if (broken.length === 0) return null;
  return (
    <section class="message is-warn broken-conditions" aria-label="Broken conditions">
      <Icon name="alert" />
      <div class="message-text" role="status">
        <p class="message-title">{broken.length === 1 ? "Fix 1 broken condition" : `Fix ${broken.length} broken conditions`}</p>
        <ul class="broken-conditions-list">
          {broken.slice(0, SHOWN).map((one) => (
            <Fault key={`${one.step.id}.${one.sourceId}`} editor={editor} broken={one} />
          ))}
        </ul>
        {broken.length > SHOWN && <p class="small">And {counted(broken.length - SHOWN, "more", "more")}.</p>}
      </div>
    </section>
  );
}

function Fault({ editor, broken }: { editor: EditorState; broken: Broken }) {
  const { step, sourceId, source, why } = broken;
  const drop = () => {
    const left = step.condition ? withoutSource(step.condition.when, sourceId) : null;
    editor.change(withStep(editor.draft.peek(), step.id, { condition: left === null ? undefined : { ...step.condition, when: left } }));
    editor.announce(`The condition of ${stepName(step)} on ${source ? stepName(source) : sourceId} is removed.`);
    focusSoon(rowId(step.id));
  };
  const move = () => {
    editor.change(moveBehind(editor.draft.peek(), step.id, sourceId));
    editor.announce(`${stepName(step)} stands behind ${source ? stepName(source) : sourceId} now.`);
    focusSoon(rowId(step.id));
  };
  const show = () => {
    editor.open.value = step.id;
    focusSoon(rowId(step.id));
  };
  return (
    <li>
      <p>{explain(broken)}</p>
      {!editor.readOnly.value && (
        <div class="actions">
          {why === "later" && (
            <button type="button" class="button" onClick={move}>
              Move it after
            </button>
          )}
          <button type="button" class="button" onClick={drop}>
            Remove the condition
          </button>
          <button type="button" class="button button-quiet" onClick={show}>
            Show the step
          </button>
        </div>
      )}
    </li>
  );
}

function explain({ step, source, sourceId, why }: Broken): string {
  const subject = stepName(step);
  const other = source ? `“${source.label.trim() || source.id}”` : sourceId;
  switch (why) {
    case "later":
      return `${subject} depends on ${other}, which comes later now. A condition can look at earlier steps only.`;
    case "gone":
      return `${subject} depends on ${other}, which is not in the template any more.`;
    case "self":
      return `${subject} depends on its own answer.`;
    case "operator":
      return `${subject} compares ${other} in a way that does not fit its kind of answer.`;
    case "value":
      return `${subject} compares ${other} with something that it cannot be.`;
  }
}
