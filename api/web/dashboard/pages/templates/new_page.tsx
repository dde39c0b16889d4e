/** A new template: empty, from an example, or generated from a description and reviewed. It opens in the editor, not saved yet. */
import "../../../kit/controls/controls.css";
import "../../../executor/styles/steps.css";
import "../../styles/templates.css";
import "../../styles/templates_editor.css";

import { useMemo, useState } from "preact/hooks";

import { EMPTY_DRAFT, countSteps, type Draft } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { counted } from "../../parts/progress";
import { PageHead, Section } from "../../parts/page_head";
import { organization } from "../../session";
import { Editor } from "./editor";
import { Gallery } from "./gallery";
import { GenerateForm } from "./generate_form";
import { GeneratedReview } from "./generated_review";
import { draftKey, readKept } from "./kept_draft";
import { Restored } from "./template_page";
import type { Generated } from "./templates_api";
import { EditorState } from "./editor_state";

interface Begun {
  readonly draft: Draft;
  readonly by: string | null;
  /** The editor then begins with the first question. */
  readonly isEmpty?: boolean;
}

export function NewTemplatePage() {
  const own = organization.value;
  const key = draftKey(own?.member_id ?? "", "new");
  const kept = useMemo(() => readKept(key), []);
  const [begun, setBegun] = useState<Begun | null>(kept === null ? null : { draft: kept.draft, by: null });
  const [made, setMade] = useState<Generated | null>(null);
  const [reviewing, setReviewing] = useState(false);
  if (own === null) return null;
  if (begun !== null) return <Fresh org={own.id} draftKey={key} begun={begun} restored={kept !== null} />;
  if (made !== null && reviewing) return <GeneratedReview org={own.id} made={made} onUse={() => setBegun({ draft: made.draft, by: made.by })} onChange={() => setReviewing(false)} />;
  const review = (generated: Generated) => {
    setMade(generated);
    setReviewing(true);
  };
  return (
    <>
      <PageHead title="New template" trail={[{ to: `${own.id}/templates`, title: "Templates" }]} />
      <div class="begin">
        <Section title="Describe it" lead="Describe what to check. You get a template that you can change before you save it.">
          <GenerateForm org={own.id} last={made} onGenerated={review} />
        </Section>
        <Section title="Start empty" lead="Begin with the first question, or paste JSON.">
          <div class="actions">
            <button type="button" class="button" onClick={() => setBegun({ draft: EMPTY_DRAFT, by: null, isEmpty: true })}>
              <Icon name="plus" />
              Start with an empty template
            </button>
          </div>
        </Section>
      </div>
      <Section title="Start from an example" lead="Checklists from the real world. The example is copied; change what differs for you, then save it.">
        <Gallery onChoose={(draft) => setBegun({ draft, by: null })} />
      </Section>
    </>
  );
}

function Fresh({ org, draftKey: key, begun, restored }: { org: string; draftKey: string; begun: Begun; restored: boolean }) {
  const editor = useMemo(() => new EditorState({ org, key, stored: null, draft: begun.draft, kept: restored ? readKept(key) : null, readOnly: false }), []);
  return <Editor editor={editor} asksFirst={begun.isEmpty === true} notice={restored ? <Restored editor={editor} /> : begun.by !== null && <Origin by={begun.by} draft={begun.draft} />} />;
}

/** What generated the template. */
function Origin({ by, draft }: { by: string; draft: Draft }) {
  return (
    <div class="message is-good generated-by" role="status">
      <Icon name="check-circle" />
      <div class="message-text">
        <p class="message-title">Generated: {counted(countSteps(draft), "step")}</p>
        <p>
          Made by <code>{by || "the service"}</code>. Review it, change what is wrong, then save it.
        </p>
      </div>
    </div>
  );
}
