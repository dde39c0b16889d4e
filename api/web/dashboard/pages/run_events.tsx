/** The events of the run: folded in its timeline, those that need attention above it. */
import { call } from "../client";
import { useLiveReload } from "../live";
import { Section } from "../parts/page_head";
import { counted } from "../parts/progress";
import { type Resource, useResource } from "../parts/resource";
import { Time } from "../parts/time";
import { Attempts, ReplayOne, Standing, WhyNot } from "./deliveries_card";
import { outcomeText } from "./deliveries_text";
import type { Delivery, ListOf } from "./deliveries_types";
import { eventsText, troubled } from "./run_timeline";
import type { RunStory } from "./runs_types";

const PER_PAGE = 100;
/** More than a run of 500 steps usually has; further events are in the list of deliveries. */
const PAGES = 10;
const PROBLEMS = 2;

export interface Deliveries {
  readonly all: readonly Delivery[];
  readonly total: number;
}

const NONE: Deliveries = { all: [], total: 0 };

/** The run's events in their order. */
export function useDeliveries(story: RunStory, organizationId: string): Resource<Deliveries> {
  const sends = story.webhook !== null;
  const list = useResource<Deliveries>(`${story.run_id} ${sends}`, async (signal) => {
    if (!sends) return NONE;
    const all: Delivery[] = [];
    let total = 0;
    for (let page: number | null = 1; page !== null && page <= PAGES; ) {
      const next: ListOf<Delivery> = await call(`${organizationId}/runs/${story.run_id}/deliveries?page=${page}&per_page=${PER_PAGE}`, { signal });
      all.push(...next.data);
      total = next.pagination.total;
      page = next.pagination.next_page;
    }
    return { all, total };
  });
  useLiveReload(["delivery", "run"], list.reload, (change) => sends && (change.run_id === story.run_id || change.id === story.run_id));
  return list;
}

interface EventsProps {
  deliveries: readonly Delivery[];
  organizationId: string;
  onChanged(): void;
}

/** What has gone wrong with the events, with the receiver's answer and the replay. */
export function DeliveryProblems({ deliveries, organizationId, onChanged }: EventsProps) {
  const found = troubled(deliveries);
  if (found.length === 0) return null;
  return (
    <Section title="Undelivered events" lead={`${counted(found.length, "event")} did not arrive at ${found[0]?.host}.`}>
      <ol class="events">
        {found.slice(0, PROBLEMS).map((delivery) => (
          <li key={delivery.event_id} class="event">
            <EventHead delivery={delivery} organizationId={organizationId} onChanged={onChanged} />
            <LastAnswer delivery={delivery} />
            <WhyNot delivery={delivery} />
          </li>
        ))}
      </ol>
      {found.length > PROBLEMS && <p class="quiet">{`${found.length - PROBLEMS} more in the timeline below.`}</p>}
    </Section>
  );
}

/** Adjacent events of the timeline, folded. */
export function EventGroup({ deliveries, organizationId, onChanged }: EventsProps) {
  return (
    <details class="event-group">
      <summary>{eventsText(deliveries)}</summary>
      <ol class="events">
        {deliveries.map((delivery) => (
          <li key={delivery.event_id} class="event">
            <EventHead delivery={delivery} organizationId={organizationId} onChanged={onChanged} />
            <Attempts delivery={delivery} />
            <WhyNot delivery={delivery} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function EventHead({ delivery, organizationId, onChanged }: { delivery: Delivery; organizationId: string; onChanged(): void }) {
  return (
    <div class="event-head">
      <p class="event-name">
        <span class="quiet tabular small">{delivery.seq}</span>
        <code>{delivery.event}</code>
        <Time at={delivery.ts} as="second" />
      </p>
      <p class="event-standing">
        <Standing delivery={delivery} />
      </p>
      <ReplayOne delivery={delivery} organizationId={organizationId} onChanged={onChanged} />
    </div>
  );
}

function LastAnswer({ delivery }: { delivery: Delivery }) {
  const last = delivery.attempts.at(-1);
  if (last === undefined) return null;
  return (
    <div class="last-answer">
      <p>
        {outcomeText(last.outcome, last.http_status)}, <Time at={last.started_at} as="second" />
        <span class="quiet">, attempt {last.number} of 5</span>
      </p>
      {last.detail !== null && (
        <p class="quiet small" dir="auto">
          {last.detail}
        </p>
      )}
    </div>
  );
}
