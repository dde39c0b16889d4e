/** Name, description and settings of the template. The name is above the questions, the rest below them. */
import { useState } from "preact/hooks";

import { DEFAULT_EXECUTION, DEFAULT_SETTINGS, LIMITS, type Draft } from "../../../core/authoring";
import type { Execution, Settings } from "../../../core";
import { Icon } from "../../../kit/controls/icon";
import { Amount, Line, Pick, Tick } from "./editor_fields";
import { problemAt } from "./step_form";
import { suggestedName } from "./suggested_name";
import type { EditorState } from "./editor_state";

const SCOPES = [
  { value: "any", title: "Anyone with the link" },
  { value: "member", title: "Members of the organization only" },
  { value: "external", title: "People from outside" },
];
const IDENTITIES = [
  { value: "none", title: "Nothing" },
  { value: "external", title: "Their name and e-mail address" },
  { value: "member", title: "Sign-in as a member" },
];
const LAYOUTS = [
  { value: "list", title: "All steps in one list" },
  { value: "one_at_a_time", title: "One step at a time" },
];

export function AboutForm({ editor }: { editor: EditorState }) {
  const draft = editor.draft.value;
  const problems = editor.problems.value.filter((problem) => problem.owner === null);
  const put = (change: Partial<Draft>, key: string) => editor.change({ ...editor.draft.peek(), ...change }, key);
  const settings = { ...DEFAULT_SETTINGS, ...draft.settings };
  const execution = { ...DEFAULT_EXECUTION, ...draft.execution };
  const set = (change: Partial<typeof settings>, key: string) => put({ settings: { ...draft.settings, ...change } }, key);
  const let_ = (change: Partial<Execution>) => {
    const next = { ...execution, ...change };
    // Without identification, the answers would not name the member.
    put({ execution: { ...draft.execution, ...next, ...(next.scope === "member" ? { identity_required: "member" as const } : {}) } }, "");
  };
  return (
    <section class="section about-form" aria-label="About the template">
      <fieldset class="form" disabled={editor.readOnly.value}>
        <legend class="vh">About the template</legend>
        <Line long label="Description (optional)" value={draft.description ?? ""} limit={LIMITS.description} error={problemAt(problems, "description")} onInput={(description) => put({ description }, "description")} />
        <Tags tags={draft.tags ?? []} error={problemAt(problems, "tags")} onChange={(tags) => put({ tags }, "")} />
        <details class="more" open={problems.some((problem) => /^(settings|execution)/.test(problem.field))}>
          <summary>Settings for runs</summary>
          <div class="form">
            <div class="two">
              <Pick label="Who may run it" value={execution.scope} options={SCOPES} error={problemAt(problems, "execution.scope")} onChange={(scope) => let_({ scope: scope as Execution["scope"] })} />
              <Pick
                label="Identification"
                value={execution.identity_required}
                options={execution.scope === "member" ? IDENTITIES.filter((one) => one.value === "member") : IDENTITIES}
                error={problemAt(problems, "execution.identity_required")}
                onChange={(identity) => let_({ identity_required: identity as Execution["identity_required"] })}
              />
            </div>
            <Tick label="Steps may be skipped" hint="Those that are not required." checked={settings.allow_skip} error={problemAt(problems, "settings.allow_skip")} onChange={(allow_skip) => set({ allow_skip }, "")} />
            <Tick label="A signature at the end" checked={settings.signature_on_complete} error={problemAt(problems, "settings.signature_on_complete")} onChange={(signature_on_complete) => set({ signature_on_complete }, "")} />
            <Pick label="Layout on the executor's device" value={settings.layout ?? "list"} options={LAYOUTS} hint="Executors can change it on their device." error={problemAt(problems, "settings.layout")} onChange={(layout) => set({ layout: layout as NonNullable<Settings["layout"]> }, "")} />
            <Amount label="Minutes it takes (optional)" value={settings.est_minutes} min={0} max={525_600} error={problemAt(problems, "settings.est_minutes")} onChange={(minutes) => set({ est_minutes: minutes ?? null }, "minutes")} />
          </div>
        </details>
      </fieldset>
    </section>
  );
}

/** One line above the questions. A new template can be saved without typing a name: it gets the suggested one. */
export function NameField({ editor }: { editor: EditorState }) {
  const draft = editor.draft.value;
  const problems = editor.problems.value.filter((problem) => problem.owner === null);
  const suggested = editor.stored.value === null ? suggestedName(draft) : "";
  return (
    <fieldset class="name-field" disabled={editor.readOnly.value}>
      <legend class="vh">Name of the template</legend>
      <Line
        id="template-name"
        label="Name"
        value={draft.name}
        limit={LIMITS.name}
        placeholder={suggested || "Fridge check, morning"}
        hint={suggested !== "" && draft.name.trim() === "" ? `Without a name, it is saved as “${suggested}”.` : undefined}
        error={problemAt(problems, "name")}
        onInput={(name) => editor.change({ ...editor.draft.peek(), name }, "name")}
      />
    </fieldset>
  );
}

function Tags({ tags, error, onChange }: { tags: readonly string[]; error: string | undefined; onChange(tags: readonly string[]): void }) {
  const [typed, setTyped] = useState("");
  const full = tags.length >= LIMITS.tags;
  const add = () => {
    const tag = typed.trim();
    if (tag !== "" && !full && tag.length <= LIMITS.tag && !tags.includes(tag)) onChange([...tags, tag]);
    if (tag.length <= LIMITS.tag) setTyped("");
  };
  const hint = full ? `A template has at most ${LIMITS.tags} tags.` : "Enter adds a tag.";
  return (
    <div class="field tags-field">
      {tags.length > 0 && (
        <ul class="tag-list" aria-label="Tags">
          {tags.map((tag) => (
            <li key={tag} class="chip">
              <span dir="auto">{tag}</span>
              <button type="button" class="chip-remove" aria-label={`Remove the tag ${tag}`} onClick={() => onChange(tags.filter((one) => one !== tag))}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div
        onFocusOut={add}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
      >
        <Line label="Add a tag (optional)" value={typed} limit={LIMITS.tag} hint={hint} error={error} onInput={setTyped} />
      </div>
    </div>
  );
}
