/** What happened in a run as one timeline: dispatch, answers, events and the end, oldest first. */
import { useState } from "preact/hooks";

import { Message } from "../../kit/controls/messages";
import { now } from "../clock";
import { CopyButton } from "../parts/copy";
import { Link } from "../parts/link";
import { Section } from "../parts/page_head";
import { counted, Progress } from "../parts/progress";
import { duration, localTime, Time } from "../parts/time";
import type { Delivery } from "./deliveries_types";
import { AnswerItem } from "./run_answers";
import { EventGroup } from "./run_events";
import { placesOf } from "./run_map";
import { PhotoViewer, photosOf } from "./run_photos";
import { type Item, timelineOf } from "./run_timeline";
import { nameOf, type RunStory } from "./runs_types";

interface TimelineProps {
  story: RunStory;
  deliveries: readonly Delivery[];
  organizationId: string;
  /** Reloads the deliveries. */
  onChanged(): void;
}

export function Timeline({ story, deliveries, organizationId, onChanged }: TimelineProps) {
  const photos = photosOf(story);
  const places = placesOf(story);
  const [shown, setShown] = useState<number | null>(null);
  const content = (item: Item) => {
    switch (item.kind) {
      case "dispatched":
        return <Dispatch story={story} organizationId={organizationId} />;
      case "opened":
        return (
          <p>
            <strong>Opened</strong> by <span dir="auto">{nameOf(story, story.assigned_to ?? "")}</span>, a member of the organization
          </p>
        );
      case "identified":
        return <Identity story={story} />;
      case "answer":
        return <AnswerItem {...item} story={story} place={places.get(item.step.id)} onPhoto={(url) => setShown(photos.findIndex((photo) => photo.url === url))} />;
      case "signed":
        return <Signed story={story} />;
      case "events":
        return <EventGroup deliveries={item.deliveries} organizationId={organizationId} onChanged={onChanged} />;
      case "ended":
        return <End story={story} />;
    }
  };
  return (
    <Section title="Timeline">
      <ol class="story">
        {timelineOf(story, deliveries).map((item) => (
          <li key={item.key} class={item.kind === "ended" ? `is-${story.status}` : `is-${item.kind}`}>
            {content(item)}
          </li>
        ))}
      </ol>
      {shown !== null && shown >= 0 && <PhotoViewer photos={photos} start={shown} onClose={() => setShown(null)} />}
    </Section>
  );
}

function Dispatch({ story, organizationId }: { story: RunStory; organizationId: string }) {
  return (
    <>
      <p>
        <strong>Dispatched</strong>
        {story.created_by_name !== null && (
          <>
            {" "}
            by <span dir="auto">{story.created_by_name}</span>
          </>
        )}{" "}
        <Time at={story.created_at} as="second" />
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
    </>
  );
}

function Identity({ story: { executor_identity: identity } }: { story: RunStory }) {
  if (identity.mode !== "external") return null;
  return (
    <p>
      <strong>Identified</strong> as <span dir="auto">{identity.name}</span>
      {identity.email !== null && <span dir="auto"> ({identity.email})</span>}
    </p>
  );
}

function Signed({ story: { signature } }: { story: RunStory }) {
  if (signature === null) return null;
  return (
    <div class="signature">
      <p>
        <strong>Signed</strong> by <span dir="auto">{signature.name}</span>, <Time at={signature.signed_at} as="second" />
      </p>
      {signature.url && <img class="signature-drawing" src={signature.url} alt={`Signature of ${signature.name}`} loading="lazy" />}
    </div>
  );
}

function End({ story }: { story: RunStory }) {
  const { progress } = story;
  const done = progress.answered + progress.skipped;
  return (
    <>
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
      {story.receipt && <Receipt story={story} />}
    </>
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
          <strong>Completed</strong> <Time at={story.completed_at} as="second" />
          {story.started_at !== null && story.completed_at !== null && <span class="quiet"> after {duration(Date.parse(story.completed_at) - Date.parse(story.started_at))}</span>}
        </p>
      );
    case "cancelled":
      return (
        <>
          <p>
            <strong>Cancelled</strong> {story.cancel_reason === "cancelled_by_owner" ? "by the organization " : "by the executor "}
            <Time at={story.cancelled_at} as="second" />
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
            <strong>Expired</strong> <Time at={story.expires_at} as="second" />
          </p>
          <Message tone="warn">
            <p>{story.progress.answered === 0 ? "The link expired without an answer." : "The link expired before the checklist was submitted. The answers given until then are above."}</p>
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
