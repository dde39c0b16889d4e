/** Loads one template and opens it in the editor. */
import "../../../kit/controls/controls.css";
import "../../../executor/styles/steps.css";
import "../../styles/templates.css";
import "../../styles/templates_editor.css";

import { useMemo, useState } from "preact/hooks";

import { asDraft } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { useLiveReload } from "../../live";
import { useResource } from "../../parts/resource";
import { PageHead } from "../../parts/page_head";
import { Failure, Loading } from "../../parts/states";
import { toast } from "../../parts/toast";
import { may, organization } from "../../session";
import type { PageProps } from "..";
import { Editor } from "./editor";
import { draftKey, readKept } from "./kept_draft";
import { readTemplate, type Stored } from "./templates_api";
import { EditorState } from "./editor_state";

export function TemplatePage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const org = organization.value?.id ?? "";
  const template = useResource(`template ${org} ${id}`, (signal) => readTemplate(org, id, signal));
  if (template.data === null) {
    return (
      <>
        <PageHead title="Template" trail={[{ to: `${org}/templates`, title: "Templates" }]} />
        {template.error ? <Failure error={template.error} onRetry={template.reload} /> : <Loading what="the template" />}
      </>
    );
  }
  return <Opened key={id} org={org} stored={template.data} />;
}

function Opened({ org, stored }: { org: string; stored: Stored }) {
  const editor = useMemo(() => {
    const key = draftKey(organization.peek()?.member_id ?? "", stored.id);
    const readOnly = !may("editor") || asDraft(stored.draft) === null;
    return { made: new EditorState({ org, key, stored, draft: stored.draft, kept: readOnly ? null : readKept(key), readOnly }), restored: !readOnly && readKept(key) !== null };
  }, []);
  const look = async () => {
    const shown = await editor.made.refresh();
    if (shown !== null) toast(`Another person has changed this template. You see version ${shown} now.`);
  };
  useLiveReload(["template"], () => void look(), (change) => change.id === stored.id);
  return <Editor editor={editor.made} notice={editor.restored && <Restored editor={editor.made} />} />;
}

/** Shown after a reload with restored edits, which can be discarded. */
export function Restored({ editor }: { editor: EditorState }) {
  const [open, setOpen] = useState(true);
  if (!open || !editor.dirty.value) return null;
  return (
    <div class="message is-info">
      <Icon name="info" />
      <div class="message-text">
        <p class="message-title">Your unsaved changes are restored</p>
        <p>Save or discard them.</p>
        <div class="actions">
          <button type="button" class="button" onClick={() => editor.discard()}>
            Discard them
          </button>
        </div>
      </div>
      <button type="button" class="button button-quiet button-icon" aria-label="Dismiss" onClick={() => setOpen(false)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
