/** The template editor: actions on top, below them the steps, JSON or versions, with the preview at the side. */
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";

import { readJson, shapeFault } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { leaving, navigate } from "../../router";
import { Badge } from "../../parts/badge";
import { Menu } from "../../parts/menu";
import { PageHead } from "../../parts/page_head";
import { counted } from "../../parts/progress";
import { Failure } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { useUnsaved } from "../../parts/unsaved";
import { may, organization } from "../../session";
import { AboutForm, NameField } from "./about_form";
import { ConflictDialog } from "./conflict_dialog";
import { DeleteTemplate } from "./delete_template";
import { focusSoon, labelId, rowId, titleId, whenId } from "./focus";
import { JsonView } from "./json_view";
import { draftKey } from "./kept_draft";
import { BrokenConditions } from "./broken_conditions";
import { Outline } from "./outline";
import { Preview } from "./preview";
import { Versions } from "./versions";
import type { EditorState } from "./editor_state";

interface EditorProps {
  editor: EditorState;
  /** A note above the editor: where the draft came from. */
  notice?: preact.ComponentChildren;
  /** Begins with the first question. */
  asksFirst?: boolean;
}

const wide = matchMedia("(min-width: 1100px)");
const isWide = signal(wide.matches);
wide.addEventListener("change", () => (isWide.value = wide.matches));

export function Editor({ editor, notice, asksFirst = false }: EditorProps) {
  const stored = editor.stored.value;
  const dirty = editor.dirty.value && !editor.readOnly.value;
  const conflict = editor.conflict.value;
  const comparing = editor.comparing.value;
  const [deleting, setDeleting] = useState(false);
  const [preview, setPreview] = useState<boolean | null>(null);
  const shown = preview ?? isWide.value;
  const name = editor.draft.value.name.trim() || (stored === null ? "New template" : "Template without a name");
  useUnsaved(dirty, "the changes to this template");
  useEffect(() => editor.persist(), [editor]);

  const save = async () => {
    editor.takeSuggestedName();
    const outcome = await editor.save();
    if (outcome.kind === "saved") {
      toast(outcome.isNew ? "The template is saved." : `Saved as version ${outcome.stored.v}.`);
      // The page of the template restores the edits made during the request.
      const isKept = outcome.isNew && editor.keepAs(draftKey(organization.peek()?.member_id ?? "", outcome.stored.id));
      if (isKept) go(`${editor.org}/templates/${outcome.stored.id}`, true);
    } else if (outcome.kind === "refused") showFirst(editor);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || editor.readOnly.peek()) return;
      const key = event.key.toLowerCase();
      if (key === "s") {
        event.preventDefault();
        if (!editor.comparing.peek()) void save();
      }
      // In a text field, the browser's own undo applies.
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (key === "z" && !typing) {
        event.preventDefault();
        if (event.shiftKey) editor.redo();
        else editor.undo();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [editor]);

  return (
    <div class="template-editor">
      <PageHead
        title={name}
        trail={[{ to: `${editor.org}/templates`, title: "Templates" }]}
        badge={<Head editor={editor} />}
        actions={
          stored !== null &&
          !editor.gone.value && (
            <>
              {may("editor") && (
                <button type="button" class="button" onClick={() => navigate(`${editor.org}/runs/new?template=${stored.id}`)}>
                  <Icon name="send" />
                  Dispatch
                </button>
              )}
              {!editor.readOnly.value && (
                <Menu label="More for this template" face={<span>More</span>}>
                  {(close) => (
                    <button
                      type="button"
                      onClick={() => {
                        close();
                        setDeleting(true);
                      }}
                    >
                      Delete the template
                    </button>
                  )}
                </Menu>
              )}
            </>
          )
        }
      />
      {notice}
      <Managed editor={editor} />
      {!editor.readOnly.value && <Bar editor={editor} dirty={dirty} preview={shown} onPreview={() => setPreview(!shown)} onSave={() => void save()} />}
      {editor.readOnly.value && (
        <div class="actions">
          <PreviewButton preview={shown} onPreview={() => setPreview(!shown)} />
        </div>
      )}
      <p class="vh" role="status" aria-live="polite">
        {editor.announcement.value}
      </p>
      <Refusal editor={editor} />
      {editor.gone.value && <Gone readOnly={editor.readOnly.value} />}
      {conflict !== null && !comparing && (
        <div class="message is-warn" role="status">
          <Icon name="alert" />
          <div class="message-text">
            <p class="message-title">Another person has changed this template</p>
            <p>Compare the changes before you save yours.</p>
            <div class="actions">
              <button type="button" class="button" onClick={() => (editor.comparing.value = true)}>
                Show the difference
              </button>
            </div>
          </div>
        </div>
      )}
      <div class={shown ? "editor-columns has-preview" : "editor-columns"}>
        <div class="editor-main">
          <Tabs
            label="Views of the template"
            tabs={[
              { id: "steps", title: "Steps", body: () => <Visual editor={editor} asksFirst={asksFirst} /> },
              { id: "json", title: "JSON", body: () => <JsonView editor={editor} /> },
              ...(stored === null ? [] : [{ id: "versions", title: "Versions", body: () => <Versions editor={editor} id={stored.id} current={stored.v} /> }]),
            ]}
          />
        </div>
        {shown && <Preview editor={editor} />}
      </div>
      {conflict !== null && comparing && <ConflictDialog editor={editor} conflict={conflict} onOverwrite={() => void save()} onClose={() => (editor.comparing.value = false)} />}
      {deleting && stored !== null && <DeleteTemplate org={editor.org} id={stored.id} name={name} onDeleted={() => go(`${editor.org}/templates`)} onClose={() => setDeleting(false)} />}
    </div>
  );
}

/** Leaving without a confirmation. */
function go(to: string, replace = false): void {
  leaving.value = null;
  navigate(to, { replace });
}

function Head({ editor }: { editor: EditorState }) {
  const stored = editor.stored.value;
  const managed = editor.managedBy.value;
  if (stored === null) return <Badge>Not saved yet</Badge>;
  return (
    <>
      <Badge>Version {stored.v}</Badge>
      {managed !== null && (
        <Badge tone="info" icon="sign">
          Managed by {managed.manager}
        </Badge>
      )}
      <span class="quiet small">
        changed <Time at={stored.updatedAt} />
      </span>
    </>
  );
}

function Managed({ editor }: { editor: EditorState }) {
  const managed = editor.managedBy.value;
  if (managed === null) return null;
  return (
    <div class="message is-info">
      <Icon name="info" />
      <div class="message-text">
        <p class="message-title">This template is managed by {managed.manager} and is read-only here</p>
        <p>{managed.reason} Whatever were changed here would be undone from there; change it there.</p>
      </div>
    </div>
  );
}

function Gone({ readOnly }: { readOnly: boolean }) {
  return (
    <div class="message is-bad" role="alert">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">Another person has deleted this template</p>
        <p>You see its last version. Its runs continue.{!readOnly && " To keep it, copy it from the JSON view into that of a new template."}</p>
      </div>
    </div>
  );
}

interface BarProps {
  editor: EditorState;
  dirty: boolean;
  preview: boolean;
  onPreview(): void;
  onSave(): void;
}

function Bar({ editor, dirty, preview, onPreview, onSave }: BarProps) {
  const saving = editor.saving.value;
  return (
    <div class="editor-bar">
      <div class="actions">
        <button type="button" class="button button-icon" aria-label="Undo" title="Undo (Ctrl + Z)" disabled={!editor.canUndo.value} onClick={() => editor.undo()}>
          <Icon name="retake" />
        </button>
        <button type="button" class="button button-icon is-redo" aria-label="Redo" title="Redo (Ctrl + Shift + Z)" disabled={!editor.canRedo.value} onClick={() => editor.redo()}>
          <Icon name="retake" />
        </button>
        <PreviewButton preview={preview} onPreview={onPreview} />
      </div>
      <div class="actions">
        <span class="editor-state small quiet" role="status">
          {saving ? "Saving …" : dirty ? (editor.keeps.value ? "Not saved" : "Not saved; this browser stores no draft") : "Saved"}
        </span>
        <button type="button" class="button button-primary" aria-disabled={saving || !dirty} onClick={() => dirty && onSave()}>
          {saving && <span class="spinner" />}
          Save
        </button>
      </div>
    </div>
  );
}

function PreviewButton({ preview, onPreview }: { preview: boolean; onPreview(): void }) {
  return (
    <button type="button" class="button toggle" aria-pressed={preview} onClick={onPreview}>
      Preview
    </button>
  );
}

/** The service's error for the template, with links to each problem. */
function Refusal({ editor }: { editor: EditorState }) {
  const error = editor.error.value;
  const problems = editor.problems.value;
  if (error === null) return null;
  if (error.problems.length === 0) return <Failure error={error} />;
  if (problems.length === 0) return null;
  return (
    <div class="message is-bad" role="alert">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">Not saved: fix {counted(problems.length, "problem")}</p>
        <ul class="json-marks">
          {problems.slice(0, 8).map((problem, index) => (
            <li key={index}>
              <button type="button" class="link-button" onClick={() => show(editor, index)}>
                {ownerText(editor, problem.owner)}
              </button>{" "}
              {problem.message}
            </li>
          ))}
          {problems.length > 8 && <li>And {problems.length - 8} more.</li>}
        </ul>
      </div>
    </div>
  );
}

function ownerText(editor: EditorState, owner: string | null): string {
  if (owner === null) return "Template";
  const step = editor.steps.value.get(owner);
  if (step) return `Step “${step.label.trim() || step.id}”`;
  const index = editor.draft.value.sections.findIndex((section) => section.id === owner);
  return `Section ${index + 1}`;
}

function showFirst(editor: EditorState): void {
  if (editor.problems.peek().length > 0) show(editor, 0);
}

/** Focuses the field, if it is known. */
function show(editor: EditorState, index: number): void {
  const problem = editor.problems.peek()[index];
  if (problem === undefined || editor.text.peek() !== null || new URLSearchParams(location.search).get("tab") === "json") return;
  if (problem.owner === null) return focusSoon("template-name");
  if (!editor.steps.value.has(problem.owner)) return focusSoon(titleId(problem.owner));
  editor.open.value = problem.owner;
  focusSoon(problem.field === "label" ? labelId(problem.owner) : problem.field === "condition" ? whenId(problem.owner) : rowId(problem.owner));
}

function Visual({ editor, asksFirst }: { editor: EditorState; asksFirst: boolean }) {
  const text = editor.text.value;
  if (text !== null) return <Unreadable editor={editor} text={text} />;
  return (
    <>
      <BrokenConditions editor={editor} />
      <NameField editor={editor} />
      <Outline editor={editor} asksFirst={asksFirst} />
      <AboutForm editor={editor} />
    </>
  );
}

/** The typed JSON is not a template: it is kept unchanged. */
function Unreadable({ editor, text }: { editor: EditorState; text: string }) {
  const read = readJson(text);
  const fault = read.ok ? shapeFault(read.value) : null;
  return (
    <div class="message is-warn">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">The JSON cannot be shown as steps</p>
        <p>{read.ok ? `${fault?.path ? `${fault.path}: ` : ""}${fault?.message ?? ""}` : `Line ${read.line}: ${read.message}`}</p>
        <p>The JSON view keeps your text. Fix it there, or discard it and return to the last valid state.</p>
        <div class="actions">
          <button type="button" class="button" onClick={() => editor.discardText()}>
            Discard the JSON
          </button>
        </div>
      </div>
    </div>
  );
}
