/** The events of the run with their attempts. */
import { call } from "../client";
import { useLiveReload } from "../live";
import { Section } from "../parts/page_head";
import { Pagination } from "../parts/pagination";
import { counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Failure, Loading } from "../parts/states";
import { Time } from "../parts/time";
import { query } from "../router";
import { Attempts, ReplayOne, Standing, WhyNot } from "./deliveries_card";
import type { Delivery, ListOf } from "./deliveries_types";
import type { RunStory } from "./runs_types";

const PER_PAGE = 50;

export function RunEvents({ story, organizationId }: { story: RunStory; organizationId: string }) {
  if (story.webhook === null) {
    return (
      <Section title="Events and deliveries">
        <p class="quiet">This run has no webhook, so no events are sent. You choose the webhook when you dispatch a run.</p>
      </Section>
    );
  }
  return <Events story={story} organizationId={organizationId} />;
}

function Events({ story, organizationId }: { story: RunStory; organizationId: string }) {
  const page = Number(query.value.get("page")) || 1;
  const list = useResource<ListOf<Delivery>>(`${story.run_id} ${page}`, (signal) =>
    call(`${organizationId}/runs/${story.run_id}/deliveries?page=${page}&per_page=${PER_PAGE}`, { signal }),
  );
  useLiveReload(["delivery", "run"], list.reload, (change) => change.run_id === story.run_id || change.id === story.run_id);
  const found = list.data;
  return (
    <Section title="Events and deliveries" lead={found !== null && found.pagination.total > 0 ? `${counted(found.pagination.total, "event")} for ${story.webhook?.host}, in the order in which they happened.` : undefined}>
      {list.error && <Failure error={list.error} onRetry={list.reload} />}
      {found === null ? (
        list.error === null && <Loading what="deliveries" />
      ) : found.pagination.total === 0 ? (
        <p class="quiet">No events for {story.webhook?.host} yet.</p>
      ) : (
        <>
          <ol class="events">
            {found.data.map((delivery) => (
              <li key={delivery.event_id} class="event">
                <Event delivery={delivery} organizationId={organizationId} onChanged={list.reload} />
              </li>
            ))}
          </ol>
          <Pagination pagination={found.pagination} label="Pages of events" />
        </>
      )}
    </Section>
  );
}

function Event({ delivery, organizationId, onChanged }: { delivery: Delivery; organizationId: string; onChanged(): void }) {
  return (
    <>
      <div class="event-head">
        <p class="event-name">
          <span class="quiet tabular small">{delivery.seq}</span>
          <code>{delivery.event}</code>
          <Time at={delivery.ts} as="local" />
        </p>
        <p class="event-standing">
          <Standing delivery={delivery} />
        </p>
        <ReplayOne delivery={delivery} organizationId={organizationId} onChanged={onChanged} />
      </div>
      <details class="event-attempts" open={delivery.status !== "delivered" && delivery.attempts.length > 0}>
        <summary>
          {counted(delivery.attempts.length, "attempt")}
          <span class="vh"> of event {delivery.seq}</span>
        </summary>
        <Attempts delivery={delivery} />
        <WhyNot delivery={delivery} />
      </details>
    </>
  );
}
