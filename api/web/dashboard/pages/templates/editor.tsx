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
import { may } from "../../session";
import { AboutForm } from "./about_form";
import { ConflictDialog } from "./conflict_dialog";
import { DeleteTemplate } from "./delete_template";
import { focusSoon, labelId, rowId, titleId } from "./focus";
import { JsonView } from "./json_view";
import { Mending } from "./mending";
import { Outline } from "./outline";
import { Preview } from "./preview";
import { Versions } from "./versions";
import type { Workshop } from "./workshop";

interface EditorProps {
  workshop: Workshop;
  /** A note above the editor: where the draft came from. */
  notice?: preact.ComponentChildren;
}

const wide = matchMedia("(min-width: 1100px)");
const isWide = signal(wide.matches);
wide.addEventListener("change", () => (isWide.value = wide.matches));

export function Editor({ workshop, notice }: EditorProps) {
  const stored = workshop.stored.value;
  const dirty = workshop.dirty.value && !workshop.readOnly.value;
  const conflict = workshop.conflict.value;
  const comparing = workshop.comparing.value;
  const [deleting, setDeleting] = useState(false);
  const [preview, setPreview] = useState<boolean | null>(null);
  const shown = preview ?? isWide.value;
  const name = workshop.draft.value.name.trim() || (stored === null ? "New template" : "Template without a name");
  useUnsaved(dirty, "the changes to this template");
  useEffect(() => workshop.keepWhileOpen(), [workshop]);

  const save = async () => {
    const outcome = await workshop.save();
    if (outcome.kind === "saved") {
      toast(outcome.isNew ? "The template is saved." : `Saved as version ${outcome.stored.v}.`);
      if (outcome.isNew) go(`${workshop.org}/templates/${outcome.stored.id}`, true);
    } else if (outcome.kind === "refused") showFirst(workshop);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || workshop.readOnly.peek()) return;
      const key = event.key.toLowerCase();
      if (key === "s") {
        event.preventDefault();
        if (!workshop.comparing.peek()) void save();
      }
      // In a text field, the browser's own undo applies.
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (key === "z" && !typing) {
        event.preventDefault();
        if (event.shiftKey) workshop.redo();
        else workshop.undo();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [workshop]);

  return (
    <div class="template-editor">
      <PageHead
        title={name}
        trail={[{ to: `${workshop.org}/templates`, title: "Templates" }]}
        beside={<Head workshop={workshop} />}
        actions={
          stored !== null &&
          !workshop.gone.value && (
            <>
              {may("editor") && (
                <button type="button" class="button" onClick={() => navigate(`${workshop.org}/runs/new?template=${stored.id}`)}>
                  <Icon name="send" />
                  Dispatch
                </button>
              )}
              {!workshop.readOnly.value && (
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
      <Managed workshop={workshop} />
      {!workshop.readOnly.value && <Bar workshop={workshop} dirty={dirty} preview={shown} onPreview={() => setPreview(!shown)} onSave={() => void save()} />}
      {workshop.readOnly.value && (
        <div class="actions">
          <PreviewButton preview={shown} onPreview={() => setPreview(!shown)} />
        </div>
      )}
      <p class="vh" role="status" aria-live="polite">
        {workshop.voice.value}
      </p>
      <Refusal workshop={workshop} />
      {workshop.gone.value && <Gone readOnly={workshop.readOnly.value} />}
      {conflict !== null && !comparing && (
        <div class="message is-warn" role="status">
          <Icon name="alert" />
          <div class="message-text">
            <p class="message-title">Somebody else has changed this template</p>
            <p>Your changes cannot be saved before you have looked at theirs.</p>
            <div class="actions">
              <button type="button" class="button" onClick={() => (workshop.comparing.value = true)}>
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
              { id: "steps", title: "Steps", body: () => <Visual workshop={workshop} /> },
              { id: "json", title: "JSON", body: () => <JsonView workshop={workshop} /> },
              ...(stored === null ? [] : [{ id: "versions", title: "Versions", body: () => <Versions workshop={workshop} id={stored.id} current={stored.v} /> }]),
            ]}
          />
        </div>
        {shown && <Preview workshop={workshop} />}
      </div>
      {conflict !== null && comparing && <ConflictDialog workshop={workshop} conflict={conflict} onOverwrite={() => void save()} onClose={() => (workshop.comparing.value = false)} />}
      {deleting && stored !== null && <DeleteTemplate org={workshop.org} id={stored.id} name={name} onDeleted={() => go(`${workshop.org}/templates`)} onClose={() => setDeleting(false)} />}
    </div>
  );
}

/** Leaving without a confirmation. */
function go(to: string, replace = false): void {
  leaving.value = null;
  navigate(to, { replace });
}

function Head({ workshop }: { workshop: Workshop }) {
  const stored = workshop.stored.value;
  const managed = workshop.managedBy.value;
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

function Managed({ workshop }: { workshop: Workshop }) {
  const managed = workshop.managedBy.value;
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
        <p class="message-title">Somebody has deleted this template</p>
        <p>What you see is what it was. Its runs go on.{!readOnly && " To keep it, copy it from the JSON view into that of a new template."}</p>
      </div>
    </div>
  );
}

interface BarProps {
  workshop: Workshop;
  dirty: boolean;
  preview: boolean;
  onPreview(): void;
  onSave(): void;
}

function Bar({ workshop, dirty, preview, onPreview, onSave }: BarProps) {
  const saving = workshop.saving.value;
  return (
    <div class="editor-bar">
      <div class="actions">
        <button type="button" class="button button-icon" aria-label="Undo" title="Undo (Ctrl + Z)" disabled={!workshop.canUndo.value} onClick={() => workshop.undo()}>
          <Icon name="retake" />
        </button>
        <button type="button" class="button button-icon is-redo" aria-label="Redo" title="Redo (Ctrl + Shift + Z)" disabled={!workshop.canRedo.value} onClick={() => workshop.redo()}>
          <Icon name="retake" />
        </button>
        <PreviewButton preview={preview} onPreview={onPreview} />
      </div>
      <div class="actions">
        <span class="editor-state small quiet" role="status">
          {saving ? "Saving …" : dirty ? (workshop.keeps.value ? "Not saved" : "Not saved; this browser keeps no draft") : "Saved"}
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
function Refusal({ workshop }: { workshop: Workshop }) {
  const error = workshop.error.value;
  const problems = workshop.problems.value;
  if (error === null) return null;
  if (error.problems.length === 0) return <Failure error={error} />;
  if (problems.length === 0) return null;
  return (
    <div class="message is-bad" role="alert">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">Nothing is saved yet: {counted(problems.length, "thing is", "things are")} to be mended</p>
        <ul class="json-marks">
          {problems.slice(0, 8).map((problem, index) => (
            <li key={index}>
              <button type="button" class="link-button" onClick={() => show(workshop, index)}>
                {ownerWords(workshop, problem.owner)}
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

function ownerWords(workshop: Workshop, owner: string | null): string {
  if (owner === null) return "Template";
  const step = workshop.steps.value.get(owner);
  if (step) return `Step “${step.label.trim() || step.id}”`;
  const index = workshop.draft.value.sections.findIndex((section) => section.id === owner);
  return `Section ${index + 1}`;
}

function showFirst(workshop: Workshop): void {
  if (workshop.problems.peek().length > 0) show(workshop, 0);
}

/** Focuses the field, if it is known. */
function show(workshop: Workshop, index: number): void {
  const problem = workshop.problems.peek()[index];
  if (problem === undefined || workshop.text.peek() !== null || new URLSearchParams(location.search).get("tab") === "json") return;
  if (problem.owner === null) return focusSoon("template-name");
  if (!workshop.steps.value.has(problem.owner)) return focusSoon(titleId(problem.owner));
  workshop.open.value = problem.owner;
  focusSoon(problem.field === "label" ? labelId(problem.owner) : rowId(problem.owner));
}

function Visual({ workshop }: { workshop: Workshop }) {
  const text = workshop.text.value;
  if (text !== null) return <Unreadable workshop={workshop} text={text} />;
  return (
    <>
      <Mending workshop={workshop} />
      <AboutForm workshop={workshop} />
      <Outline workshop={workshop} />
    </>
  );
}

/** The typed JSON is not a template: it is kept unchanged. */
function Unreadable({ workshop, text }: { workshop: Workshop; text: string }) {
  const read = readJson(text);
  const fault = read.ok ? shapeFault(read.value) : null;
  return (
    <div class="message is-warn">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">The JSON cannot be shown as steps</p>
        <p>{read.ok ? `${fault?.path ? `${fault.path}: ` : ""}${fault?.message ?? ""}` : `Line ${read.line}: ${read.message}`}</p>
        <p>What you typed is kept in the JSON view. Mend it there, or give it up and go back to the last state that could be shown.</p>
        <div class="actions">
          <button type="button" class="button" onClick={() => workshop.giveUpText()}>
            Give up what I typed as JSON
          </button>
        </div>
      </div>
    </div>
  );
}
