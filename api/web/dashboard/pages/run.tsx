/** One run: how it was dispatched, answered and delivered, and how it ended. */
import { useState } from "preact/hooks";

import "../styles/runs.css";
import "../styles/deliveries.css";
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { useLiveReload } from "../live";
import { FlaggedBadge, RunStatusBadge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { CopyButton } from "../parts/copy";
import { DownloadNow, useDownload } from "../parts/downloads";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { counted } from "../parts/progress";
import { type Resource, useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { toast } from "../parts/toast";
import { may, organization } from "../session";
import type { PageProps } from "./index";
import { FlaggedAnswers, Unanswered } from "./run_answers";
import { DeliveryProblems, useDeliveries } from "./run_events";
import { Timeline } from "./run_history";
import { LinkToGive } from "./run_link";
import { Places, placesOf } from "./run_map";
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
  const events = useDeliveries(story, organizationId);
  const deliveries = events.data?.all ?? [];
  const more = (events.data?.total ?? 0) - deliveries.length;
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
        {story.executor_ref !== null && (
          <p>
            Reference <strong dir="auto">{story.executor_ref}</strong>
          </p>
        )}
        <p class="run-id">
          <code class="mono small">{story.run_id}</code>
          <CopyButton text={story.run_id} label="Copy the run's id" />
        </p>
      </PageHead>
      <DownloadNow download={printing} />
      {resource.error && <Failure error={resource.error} onRetry={resource.reload} />}
      {events.error && <Failure error={events.error} onRetry={events.reload} />}
      <FlaggedAnswers story={story} />
      <DeliveryProblems deliveries={deliveries} organizationId={organizationId} onChanged={events.reload} />
      {open && link.data && (
        <Section title="Link for the executor" lead="Anyone with this link can answer. Send it to one person only.">
          <LinkToGive link={link.data.link} qr={link.data.qr} about={story.template_name} />
        </Section>
      )}
      {open && link.error && <Failure error={link.error} onRetry={link.reload} />}
      <Timeline story={story} deliveries={deliveries} organizationId={organizationId} onChanged={events.reload} />
      {more > 0 && (
        <p>
          <Link to={`${organizationId}/deliveries?run=${story.run_id}`}>{counted(more, "more event")}</Link>
        </p>
      )}
      <Unanswered story={story} />
      <Places places={[...placesOf(story).values()]} />
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
