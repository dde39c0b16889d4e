/** Dispatches a run: template, expiry, executor and webhook. The result is a link to send to the executor. */
import { useEffect, useRef, useState } from "preact/hooks";

import "../styles/runs.css";
import { Message } from "../../kit/controls/messages";
import { ApiError, call, type FieldProblem } from "../client";
import { useLiveReload } from "../live";
import { allInline, CheckField, focusFirstProblem, problemOf, TextField, withoutProblem } from "../parts/fields";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { counted } from "../parts/progress";
import { randomKey } from "../parts/random_key";
import { useResource } from "../parts/resource";
import { Failure, Loading } from "../parts/states";
import { localTime } from "../parts/time";
import { useUnsaved } from "../parts/unsaved";
import { query } from "../router";
import { organization } from "../session";
import { Expiry } from "./dispatch_expiry";
import { TemplateChoice } from "./dispatch_template";
import { WebhookFields } from "./dispatch_webhook";
import { LinkToGive } from "./run_link";
import { useTemplates } from "./runs_templates";
import type { RunLink } from "./runs_types";

const INLINE = ["template_id", "expires_in_hours", "executor_ref", "webhook.url", "webhook.secret", "webhook.events"] as const;

/** The form's values as typed. */
export interface Draft {
  readonly templateId: string;
  /** Hours, as text; empty if the link never expires. */
  readonly hours: string;
  readonly reference: string;
  readonly hasWebhook: boolean;
  readonly url: string;
  readonly secret: string;
  readonly allEvents: boolean;
  readonly events: readonly string[];
}

interface Dispatched extends RunLink {
  readonly runId: string;
  readonly templateName: string;
  readonly reference: string;
}

interface Usage {
  readonly limit_reached: { readonly message: string; readonly details: Limit } | null;
}

interface Limit {
  readonly limit: number;
  readonly used: number;
  readonly resets_at: string;
}

const NOTHING: Draft = { templateId: "", hours: "", reference: "", hasWebhook: false, url: "", secret: "", allEvents: true, events: ["run.completed", "run.cancelled", "run.expired"] };

export function DispatchPage() {
  const id = organization.value?.id ?? "";
  const templates = useTemplates(id);
  const usage = useResource<Usage>(`${id} usage`, (signal) => call(`${id}/usage`, { signal }));
  useLiveReload(["run"], usage.reload, (change) => change.status === "pending");
  const [draft, setDraft] = useState<Draft>(() => ({ ...NOTHING, templateId: query.peek().get("template") ?? "" }));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [made, setMade] = useState<Dispatched | null>(null);
  const form = useRef<HTMLFormElement>(null);
  /** Idempotency key of the form's current values: submitting the same form twice creates one run. */
  const key = useRef(randomKey());
  const dirty = made === null && (draft.reference !== "" || draft.url !== "" || draft.secret !== "");
  useUnsaved(dirty, "what you have filled in for this run");

  const change = (parts: Partial<Draft>) => {
    key.current = randomKey();
    setDraft((before) => ({ ...before, ...parts }));
  };
  const choose = (templateId: string) => {
    change({ templateId });
    setError((before) => before && withoutProblem(before, "template_id"));
  };
  const send = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      const run = await call<{ run_id: string }>(`${id}/runs`, { method: "POST", json: bodyOf(draft), headers: { "Idempotency-Key": key.current } });
      const link = await call<RunLink>(`${id}/runs/${run.run_id}/link`);
      const templateName = templates.data?.find((one) => one.id === draft.templateId)?.name ?? "the checklist";
      setMade({ ...link, runId: run.run_id, templateName, reference: draft.reference });
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(asFieldErrors(problem));
      focusFirstProblem(form.current);
    } finally {
      setBusy(false);
    }
  };
  const another = () => {
    key.current = randomKey();
    setMade(null);
    setDraft((before) => ({ ...before, reference: "" }));
    usage.reload();
  };

  // The focused element disappears when the form is replaced by the link, and back.
  const shown = useRef(made);
  useEffect(() => {
    if (shown.current !== made) document.querySelector<HTMLElement>("main h1")?.focus();
    shown.current = made;
  }, [made]);

  const trail = [{ to: `${id}/runs`, title: "Runs" }];
  if (made !== null) return <Result made={made} trail={trail} organizationId={id} onAnother={another} />;
  const limit = usage.data?.limit_reached ?? null;
  return (
    <>
      <PageHead title="Dispatch a run" trail={trail}>
        <p>
          Send one checklist to one person. You get a link for them; they need no account. <Link to={`${id}/runs/new/many${draft.templateId === "" ? "" : `?template=${draft.templateId}`}`}>Dispatch many runs from a table</Link>
        </p>
      </PageHead>
      {limit !== null && error === null && <LimitReached message={limit.message} limit={limit.details} organizationId={id} />}
      {templates.data === null ? (
        templates.error === null ? (
          <Loading what="templates" />
        ) : (
          <Failure error={templates.error} onRetry={templates.reload} />
        )
      ) : (
        <form ref={form} class="form dispatch" onSubmit={(event) => void send(event)} noValidate>
          <Section title="Checklist">
            <TemplateChoice templates={templates.data} value={draft.templateId} error={problemOf(error, "template_id")} organizationId={id} onChange={choose} />
          </Section>
          <Section title="Link">
            <Expiry hours={draft.hours} error={problemOf(error, "expires_in_hours")} onChange={(hours) => change({ hours })} />
            <TextField
              name="executor_ref"
              label="Reference"
              optional
              hint="Your own reference, such as an order, a room or a name. It is sent in every event."
              value={draft.reference}
              autocomplete="off"
              error={problemOf(error, "executor_ref")}
              onInput={(reference) => change({ reference })}
            />
          </Section>
          <Section title="Webhook">
            <CheckField
              name="has_webhook"
              label="Send events to my server"
              hint="Events are signed. You cannot change this after dispatch."
              checked={draft.hasWebhook}
              onChange={(hasWebhook) => change({ hasWebhook })}
            />
            {draft.hasWebhook && <WebhookFields draft={draft} error={error} onChange={change} />}
          </Section>
          {error && error.code === "quota_exceeded" ? (
            <LimitReached message={error.message} limit={error.details as Limit} organizationId={id} />
          ) : (
            error && !allInline(error, INLINE) && <Failure error={error} />
          )}
          <div class="actions">
            <button type="submit" class="button button-primary" aria-disabled={busy}>
              {busy && <span class="spinner" />}
              Dispatch
            </button>
            <Link to={`${id}/runs`} class="button button-quiet">
              Back to the runs
            </Link>
          </div>
        </form>
      )}
    </>
  );
}

interface ResultProps {
  made: Dispatched;
  trail: readonly { readonly to: string; readonly title: string }[];
  organizationId: string;
  onAnother(): void;
}

function Result({ made, trail, organizationId, onAnother }: ResultProps) {
  return (
    <>
      <PageHead title="The run is dispatched" trail={trail} />
      <Section title="Link for the executor" lead={`“${made.templateName}”${made.reference === "" ? "" : `, ${made.reference}`}. ${made.expires_at === null ? "The link never expires." : `The link works until ${localTime(made.expires_at)}.`} Send it to one person only.`}>
        <LinkToGive link={made.link} qr={made.qr} about={made.templateName} />
        <div class="actions">
          <Link to={`${organizationId}/runs/${made.runId}`} class="button button-primary">
            See the run
          </Link>
          <button type="button" class="button" onClick={onAnother}>
            Dispatch another
          </button>
        </div>
      </Section>
    </>
  );
}

function LimitReached({ message, limit, organizationId }: { message: string; limit: Limit; organizationId: string }) {
  return (
    <div role="alert">
      <Message tone="warn" title={message}>
        <p>
          {`${limit.used} of ${counted(limit.limit, "run")} used. The count resets ${localTime(limit.resets_at)}. `}
          <Link to={`${organizationId}/settings/usage`}>See the usage</Link>
        </p>
      </Message>
    </div>
  );
}

function bodyOf(draft: Draft): Record<string, unknown> {
  const events = draft.allEvents ? ["*"] : draft.events;
  return {
    ...(draft.templateId === "" ? {} : { template_id: draft.templateId }),
    // Text that is not a number is sent unchanged: the service reports the problem.
    ...(draft.hours === "" ? {} : { expires_in_hours: Number.isNaN(Number(draft.hours)) ? draft.hours : Number(draft.hours) }),
    ...(draft.reference.trim() === "" ? {} : { executor_ref: draft.reference.trim() }),
    ...(draft.hasWebhook ? { webhook: { url: draft.url.trim(), secret: draft.secret, events } } : {}),
  };
}

/**
 * A missing template or one that cannot be dispatched is a problem of that field; problems of list items are problems
 * of the list.
 */
function asFieldErrors(error: ApiError): ApiError {
  const problems = error.problems.map((problem) => ({ ...problem, path: problem.path.startsWith("webhook.events") ? "webhook.events" : problem.path, message: messageOf(problem) }));
  const ofTemplate = error.code === "template_not_found" || error.code === "template_not_runnable";
  const found = ofTemplate ? [{ path: "template_id", code: error.code, message: error.message }] : problems;
  return new ApiError(error.status, error.code, error.message, found, error.requestId, error.details, error.retryAfter);
}

function messageOf({ path, code, message }: FieldProblem): string {
  return path === "template_id" && code === "missing" ? "Choose the checklist to dispatch." : sentence(message);
}

/** Turns the service's "must be a number" into a sentence. */
function sentence(message: string): string {
  const first = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
