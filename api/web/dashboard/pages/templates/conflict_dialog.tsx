/** Resolves an edit conflict with another person's version: both changes field by field. */
import { useMemo, useState } from "preact/hooks";

import { changesBetween, type Conflict as Both, type Side } from "../../../core/authoring";
import { Dialog } from "../../../kit/controls/dialog";
import { Time } from "../../parts/time";
import { ChangeList } from "./change_list";
import type { Conflict, EditorState } from "./editor_state";

interface Props {
  editor: EditorState;
  conflict: Conflict;
  /** Called when the person has chosen to overwrite. */
  onOverwrite(): void;
  onClose(): void;
}

export function ConflictDialog({ editor, conflict, onOverwrite, onClose }: Props) {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const [sure, setSure] = useState(false);
  const base = editor.baseDraft();
  const theirs = useMemo(() => changesBetween(base, conflict.theirs), [base, conflict]);
  const yours = useMemo(() => changesBetween(base, editor.draft.value), [base, editor.draft.value]);
  const merged = useMemo(() => editor.merged(choices), [choices, editor.draft.value]);
  const choose = (key: string, side: Side) => setChoices(new Map([...choices, [key, side]]));
  return (
    <Dialog
      title="Another person has changed this template"
      class="conflict"
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={() => editor.discard()}>
            Discard my changes
          </button>
          <button
            type="button"
            class={sure ? "button button-danger" : "button"}
            onClick={() => {
              if (!sure) return setSure(true);
              editor.overwrite();
              onOverwrite();
            }}
          >
            {sure ? "Undo their changes" : "Overwrite with mine …"}
          </button>
          <button type="button" class="button button-primary" onClick={() => editor.applyMerged(choices)}>
            Keep both
          </button>
        </>
      }
    >
      <p>
        While you worked, version {conflict.v} was made (<Time at={conflict.updatedAt} />
        ). Nothing of yours is saved or lost.
      </p>
      {sure && (
        <p class="message is-bad" role="alert">
          Overwriting saves your template as it is. Their changes are undone, but stay in version {conflict.v}.
        </p>
      )}
      {merged.conflicts.length > 0 && (
        <section class="conflict-fields" aria-label="Changed by both">
          <h3>Changed by both: choose one</h3>
          {merged.conflicts.map((one) => (
            <ConflictField key={one.key} both={one} chosen={choices.get(one.key) ?? "yours"} onChoose={(side) => choose(one.key, side)} />
          ))}
        </section>
      )}
      <section>
        <h3>Their changes</h3>
        <ChangeList changes={theirs} label="Their changes" />
      </section>
      <section>
        <h3>Your changes</h3>
        <ChangeList changes={yours} label="Your changes" />
      </section>
    </Dialog>
  );
}

function ConflictField({ both, chosen, onChoose }: { both: Both; chosen: Side; onChoose(side: Side): void }) {
  const side = (value: Side, title: string, text: string) => (
    <label class="radio">
      <input type="radio" name={both.key} checked={chosen === value} onChange={() => onChoose(value)} />
      <span>
        <span class="radio-title">{title}</span>
        <span dir="auto">{text}</span>
      </span>
    </label>
  );
  return (
    <fieldset class="conflict-field">
      <legend>
        <strong>{both.about}</strong>: {both.what}
      </legend>
      <p class="quiet small">Before: {both.base}</p>
      {side("yours", "Yours", both.yours)}
      {side("theirs", "Theirs", both.theirs)}
    </fieldset>
  );
}
