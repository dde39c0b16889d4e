/** The form of a job: template, values for all rows, and the table. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { MAX_EXPIRY_HOURS } from "../../../core/bounds";
import { ApiError, call, type FieldProblem } from "../../client";
import { useLiveReload } from "../../live";
import { CheckField, focusFirstProblem, problemOf, withoutProblem } from "../../parts/fields";
import { Link } from "../../parts/link";
import { PageHead, Section } from "../../parts/page_head";
import { count, counted } from "../../parts/progress";
import { useResource } from "../../parts/resource";
import { Failure, Loading } from "../../parts/states";
import { useUnsaved } from "../../parts/unsaved";
import { query } from "../../router";
import type { Draft } from "../dispatch";
import { Expiry } from "../dispatch_expiry";
import { TemplateChoice } from "../dispatch_template";
import { WebhookFields } from "../dispatch_webhook";
import { useTemplates } from "../runs_templates";
import { begin } from "./dispatching";
import { newJobId } from "./kept_job";
import { type Defaults, readTable } from "./table";
import { TableField } from "./table_field";

const SHORTEST_SECRET = 16;
const NOTHING: Draft = { templateId: "", hours: "", reference: "", hasWebhook: false, url: "", secret: "", allEvents: true, events: ["run.completed", "run.cancelled", "run.expired"] };

interface Usage {
  readonly limit: number | null;
  readonly used: number;
}

export function ManyForm({ organizationId, children }: { organizationId: string; children?: ComponentChildren }) {
  const templates = useTemplates(organizationId);
  const usage = useResource<Usage>(`${organizationId} usage`, (signal) => call(`${organizationId}/usage`, { signal }));
  useLiveReload(["run"], usage.reload, (change) => change.status === "pending");
  const [draft, setDraft] = useState<Draft>(() => ({ ...NOTHING, templateId: query.peek().get("template") ?? "" }));
  const [text, setText] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useUnsaved(text !== "", "the table that you have entered");
  const defaults = defaultsOf(draft);
  const table = useMemo(() => (text.trim() === "" ? null : readTable(text, defaults)), [text, JSON.stringify(defaults)]);
  const rows = table === null || table.problems.length > 0 ? 0 : table.rows.length;
  const left = usage.data === null || usage.data.limit === null ? null : Math.max(0, usage.data.limit - usage.data.used);

  const change = (parts: Partial<Draft>) => setDraft((before) => ({ ...before, ...parts }));
  const right = (path: string) => setError((before) => before && withoutProblem(before, path));
  const chooseTemplate = (templateId: string) => {
    change({ templateId });
    right("template_id");
  };
  const enter = (next: string) => {
    setText(next);
    right("table");
  };
  const send = (event: Event) => {
    event.preventDefault();
    const problems = problemsOf(draft, table === null ? "Enter a table, or choose a file." : table.problems.length > 0 ? "Fix the problems of the table first." : null);
    const template = templates.data?.find((one) => one.id === draft.templateId);
    if (problems.length > 0 || table === null || template === undefined) {
      setError(new ApiError(422, "validation_failed", "Not valid.", problems));
      return focusFirstProblem(form.current);
    }
    const { copied, delimiter } = table;
    const job = { id: newJobId(), organizationId, templateId: template.id, templateName: template.name, copied, delimiter, rows: table.rows, begunAt: Date.now() };
    if (!begin(job, draft.secret)) setError(new ApiError(0, "no_room", "This browser has no room to keep so large a table. Divide it, or use the command line."));
  };
  return (
    <>
      <PageHead title="Dispatch many runs" trail={[{ to: `${organizationId}/runs`, title: "Runs" }]}>
        <p>Send one checklist to many people: a run and a link for each row of a table.</p>
      </PageHead>
      {children}
      {templates.data === null ? (
        templates.error === null ? (
          <Loading what="templates" />
        ) : (
          <Failure error={templates.error} onRetry={templates.reload} />
        )
      ) : (
        <form ref={form} class="form dispatch-many" onSubmit={send} noValidate>
          <Section title="Checklist">
            <TemplateChoice templates={templates.data} value={draft.templateId} error={problemOf(error, "template_id")} organizationId={organizationId} onChange={chooseTemplate} />
          </Section>
          <Section title="Table">
            <TableField text={text} table={table} error={problemOf(error, "table")} onText={enter} />
          </Section>
          <Section title="Links" lead="For rows without their own expiry.">
            <Expiry hours={draft.hours} error={problemOf(error, "expires_in_hours")} onChange={(hours) => change({ hours })} />
          </Section>
          <Section title="Webhook">
            <CheckField
              name="has_webhook"
              label="Send events to my server"
              hint="Events are signed with the same secret for all rows. You cannot change this after dispatch."
              checked={draft.hasWebhook}
              onChange={(hasWebhook) => change({ hasWebhook })}
            />
            {draft.hasWebhook && <WebhookFields draft={draft} error={error} onChange={change} />}
          </Section>
          {error?.code === "no_room" && <Failure error={error} />}
          {left !== null && rows > left && (
            <p class="quiet">
              {`The plan has ${counted(left, "run")} left this month: the job will stop there. `}
              <Link to={`${organizationId}/settings/usage`}>See the usage</Link>
            </p>
          )}
          <div class="actions">
            <button type="submit" class="button button-primary">
              {rows === 0 ? "Dispatch" : `Dispatch ${count(rows)} ${rows === 1 ? "run" : "runs"}`}
            </button>
            <Link to={`${organizationId}/runs/new`} class="button button-quiet">
              Dispatch one run
            </Link>
          </div>
        </form>
      )}
    </>
  );
}

function defaultsOf(draft: Draft): Defaults {
  const hours = Number(draft.hours);
  return {
    hours: draft.hours === "" || Number.isNaN(hours) ? null : hours,
    url: draft.hasWebhook && draft.url.trim() !== "" ? draft.url.trim() : null,
    events: draft.allEvents ? ["*"] : draft.events,
    hasSecret: draft.hasWebhook,
  };
}

function problemsOf(draft: Draft, ofTable: string | null): FieldProblem[] {
  const wrong = (path: string, message: string): FieldProblem => ({ path, code: "invalid", message });
  const hours = Number(draft.hours);
  return [
    ...(draft.templateId === "" ? [wrong("template_id", "Choose the checklist to dispatch.")] : []),
    ...(draft.hours !== "" && !(hours > 0 && hours <= MAX_EXPIRY_HOURS) ? [wrong("expires_in_hours", `Must be more than 0 and at most ${MAX_EXPIRY_HOURS.toLocaleString("en")} hours.`)] : []),
    ...(ofTable === null ? [] : [wrong("table", ofTable)]),
    ...(draft.hasWebhook && draft.secret.length < SHORTEST_SECRET ? [wrong("webhook.secret", "Must have at least 16 characters.")] : []),
    ...(draft.hasWebhook && !draft.allEvents && draft.events.length === 0 ? [wrong("webhook.events", "Choose at least one event.")] : []),
  ];
}
