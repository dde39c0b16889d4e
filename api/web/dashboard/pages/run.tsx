/** One run: how it was dispatched, answered and delivered, and how it ended. */
import { useState } from "preact/hooks";

import "../styles/runs.css";
import "../styles/deliveries.css";
import { Icon } from "../../kit/controls/icon";
import { Message } from "../../kit/controls/messages";
import { call } from "../client";
import { now } from "../clock";
import { useLiveReload } from "../live";
import { FlaggedBadge, RunStatusBadge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { CopyButton } from "../parts/copy";
import { DownloadNow, useDownload } from "../parts/downloads";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { counted, Progress } from "../parts/progress";
import { type Resource, useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { duration, localTime, Time } from "../parts/time";
import { toast } from "../parts/toast";
import { may, organization } from "../session";
import type { PageProps } from "./index";
import { RunAnswers } from "./run_answers";
import { RunEvents } from "./run_events";
import { LinkToGive } from "./run_link";
import { withKnownAddresses } from "./run_photos";
import { isOpen, type RunLink, type RunStory } from "./runs_types";

export function RunPage({ params }: PageProps) {
  const id = organization.value?.id ?? "";
  const runId = params["run_id"] ?? "";
  const story = useResource<RunStory>(`${id}/runs/${runId}`, async (signal) => withKnownAddresses(await call<RunStory>(`${id}/runs/${runId}/story`, { signal })));
  useLiveReload(["run"], story.reload, (change) => change.id === runId);
  if (story.data !== null) return <Run story={story.data} resource={story} organizationId={id} />;
  return (
    <>
      <PageHead title="Run" trail={[{ to: `${id}/runs`, title: "Runs" }]} />
      {story.error === null ? (
        <Loading what="the run" />
      ) : story.error.status === 404 ? (
        <Empty title="Run not found">
          <p>It may have been removed after its retention time, or belong to another organization.</p>
          <p>
            <Link to={`${id}/runs`}>All runs</Link>
          </p>
        </Empty>
      ) : (
        <Failure error={story.error} onRetry={story.reload} />
      )}
    </>
  );
}

function Run({ story, resource, organizationId }: { story: RunStory; resource: Resource<RunStory>; organizationId: string }) {
  const [cancelling, setCancelling] = useState(false);
  const printing = useDownload();
  const open = isOpen(story.status);
  const link = useResource<RunLink | null>(`${story.run_id} ${open && may("editor")}`, async (signal) =>
    open && may("editor") ? call<RunLink>(`${organizationId}/runs/${story.run_id}/link`, { signal }) : null,
  );
  return (
    <>
      <PageHead
        title={story.template_name}
        trail={[{ to: `${organizationId}/runs`, title: "Runs" }]}
        badge={
          <>
            <RunStatusBadge status={story.status} />
            {story.flagged > 0 && <FlaggedBadge count={story.flagged} />}
          </>
        }
        actions={
          <>
            <button type="button" class="button" onClick={() => printing.start(`${organizationId}/runs/${story.run_id}/export?format=pdf`, "Making the PDF")}>
              <Icon name="download" />
              PDF
            </button>
            {open && may("editor") && (
              <button type="button" class="button" onClick={() => setCancelling(true)}>
                Cancel the run
              </button>
            )}
          </>
        }
      >
        <p class="run-id">
          <code class="mono small">{story.run_id}</code>
          <CopyButton text={story.run_id} label="Copy the run's id" />
        </p>
      </PageHead>
      <DownloadNow download={printing} />
      {resource.error && <Failure error={resource.error} onRetry={resource.reload} />}
      <History story={story} organizationId={organizationId} />
      {open && link.data && (
        <Section title="Link for the executor" lead="Anyone with this link can answer. Send it to one person only.">
          <LinkToGive link={link.data.link} qr={link.data.qr} about={story.template_name} />
        </Section>
      )}
      {open && link.error && <Failure error={link.error} onRetry={link.reload} />}
      <RunAnswers story={story} />
      <RunEvents story={story} organizationId={organizationId} />
      {cancelling && <CancelRun story={story} organizationId={organizationId} onDone={resource.reload} onClose={() => setCancelling(false)} />}
    </>
  );
}

interface CancelProps {
  story: RunStory;
  organizationId: string;
  onDone(): void;
  onClose(): void;
}

function CancelRun({ story, organizationId, onDone, onClose }: CancelProps) {
  const given = story.progress.answered;
  const cancel = async () => {
    await call(`${organizationId}/runs/${story.run_id}/cancel`, { method: "POST", json: {} });
    toast("The run is cancelled.");
    onDone();
  };
  return (
    <Confirm title={`Cancel this run of “${story.template_name}”?`} act="Cancel the run" onConfirm={cancel} onClose={onClose}>
      <ul class="prose-list">
        <li>The link stops working at once. The page then says that the run was cancelled.</li>
        <li>{given === 0 ? "Nothing was answered yet." : `${given === 1 ? "The answer" : `The ${given} answers`} given so far can still be read here; no more are accepted.`}</li>
        {receives(story, "run.cancelled") && (
          <li>
            {story.webhook?.host} is sent <code>run.cancelled</code> with the reason <code>cancelled_by_owner</code>.
          </li>
        )}
        <li>The run still counts against this month’s limit. It cannot be opened again.</li>
      </ul>
    </Confirm>
  );
}

/** Whether the run's webhook receives `event`. */
function receives(story: RunStory, event: string): boolean {
  return story.webhook !== null && (story.webhook.events.includes("*") || story.webhook.events.includes(event));
}

function History({ story, organizationId }: { story: RunStory; organizationId: string }) {
  const { progress, executor_identity: identity } = story;
  const done = progress.answered + progress.skipped;
  return (
    <Section title="What happened">
      <ol class="story">
        <li>
          <p>
            <strong>Dispatched</strong>
            {story.created_by_name !== null && (
              <>
                {" "}
                by <span dir="auto">{story.created_by_name}</span>
              </>
            )}{" "}
            <Time at={story.created_at} as="local" />
          </p>
          <dl class="facts">
            <dt>Template</dt>
            <dd>
              <Link to={`${organizationId}/templates/${story.template_id}`}>{story.template_name}</Link>, version {story.template_v}
            </dd>
            <dt>Reference</dt>
            <dd dir="auto">{story.executor_ref ?? <span class="quiet">none</span>}</dd>
            <dt>Expires</dt>
            <dd>{story.expires_at === null ? <span class="quiet">never</span> : <Time at={story.expires_at} as="local" />}</dd>
            <dt>Events go to</dt>
            <dd>{story.webhook === null ? <span class="quiet">no webhook</span> : `${story.webhook.host} (${story.webhook.events.includes("*") ? "all events" : story.webhook.events.join(", ")})`}</dd>
          </dl>
        </li>
        {story.assigned_to !== null && (
          <li>
            <p>
              <strong>Opened</strong> by <span dir="auto">{nameOf(story, story.assigned_to)}</span>, a member of the organization
            </p>
          </li>
        )}
        {identity.mode === "external" && identity.name !== null && (
          <li>
            <p>
              <strong>Identified</strong> as <span dir="auto">{identity.name}</span>
              {identity.email !== null && <span dir="auto"> ({identity.email})</span>}
            </p>
          </li>
        )}
        {story.started_at !== null && (
          <li>
            <p>
              <strong>First answer</strong> <Time at={story.started_at} as="local" />
            </p>
          </li>
        )}
        <li class={`is-${story.status}`}>
          <Ending story={story} />
          {story.status === "completed" && <p>{answeredText(story)}</p>}
          {progress.total > 0 && story.status !== "completed" && (
            <div class="story-progress">
              <Progress
                label="Progress"
                value={done}
                max={progress.total}
                text={`${done} of ${counted(progress.total, "step")} done${progress.skipped > 0 ? `, ${progress.skipped} of them skipped` : ""}`}
              />
            </div>
          )}
        </li>
      </ol>
      {story.receipt && <Receipt story={story} />}
    </Section>
  );
}

/** `3 steps answered, 1 skipped, 2 optional ones left open` */
function answeredText({ progress: { total, answered, skipped } }: RunStory): string {
  const open = total - answered - skipped;
  return [
    `${counted(answered, "step")} answered`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(open > 0 ? [`${open} optional ${open === 1 ? "one" : "ones"} left open`] : []),
  ].join(", ");
}

function Ending({ story }: { story: RunStory }) {
  const missing = story.missing_steps.length;
  switch (story.status) {
    case "pending":
      return (
        <p>
          <strong>Waiting</strong> for the first answer
          {story.expires_at !== null && `; the link works ${leftUntil(story.expires_at)}`}
        </p>
      );
    case "in_progress":
      return (
        <p>
          <strong>Being answered</strong>
          {missing > 0 ? `; ${counted(missing, "required step")} left` : "; nothing required is left, it can be submitted"}
        </p>
      );
    case "completed":
      return (
        <p>
          <strong>Completed</strong> <Time at={story.completed_at} as="local" />
          {story.started_at !== null && story.completed_at !== null && <span class="quiet"> after {duration(Date.parse(story.completed_at) - Date.parse(story.started_at))}</span>}
        </p>
      );
    case "cancelled":
      return (
        <>
          <p>
            <strong>Cancelled</strong> {story.cancel_reason === "cancelled_by_owner" ? "by the organization " : "by the executor "}
            <Time at={story.cancelled_at} as="local" />
          </p>
          {story.cancel_reason !== null && story.cancel_reason !== "cancelled_by_owner" && (
            <p>
              Reason: <span dir="auto">{story.cancel_reason}</span>
            </p>
          )}
        </>
      );
    case "expired":
      return (
        <>
          <p>
            <strong>Expired</strong> <Time at={story.expires_at} as="local" />
          </p>
          <Message tone="warn">
            <p>{story.progress.answered === 0 ? "The link expired without an answer." : "The link expired before the checklist was submitted. The answers given until then are below."}</p>
          </Message>
        </>
      );
  }
}

function Receipt({ story }: { story: RunStory }) {
  const { receipt } = story;
  if (receipt === null) return null;
  return (
    <div class="receipt">
      <h3>Receipt</h3>
      <p class="quiet small">The executor was shown the same receipt.</p>
      <dl class="facts">
        <dt>Received</dt>
        <dd>{`${counted(receipt.answers, "answer")} and ${counted(receipt.photos, "photo")}, ${localTime(receipt.completed_at)}`}</dd>
        <dt>Digest</dt>
        <dd class="receipt-digest">
          <code class="mono small">{receipt.digest}</code>
          <CopyButton text={receipt.digest} label="Copy the digest" />
        </dd>
      </dl>
    </div>
  );
}

function leftUntil(moment: string): string {
  const left = Date.parse(moment) - now.value;
  if (left <= 0) return "no longer";
  const hours = left / 3_600_000;
  if (hours < 1) return `for ${counted(Math.max(1, Math.ceil(hours * 60)), "more minute")}`;
  if (hours < 48) return `for ${counted(Math.round(hours), "more hour")}`;
  return `for ${counted(Math.round(hours / 24), "more day")}`;
}

/** The name of a member; the id of a removed one. */
export function nameOf(story: RunStory, person: string): string {
  return story.people[person] ?? person;
}
