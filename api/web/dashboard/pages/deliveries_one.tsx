/** One delivery: its event, its run, and each attempt. */
import "../styles/deliveries.css";
import { call } from "../client";
import { useLiveReload } from "../live";
import { CopyButton } from "../parts/copy";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { Time } from "../parts/time";
import { organization } from "../session";
import { Attempts, ReplayOne, WhyNot } from "./deliveries_card";
import type { Delivery } from "./deliveries_types";
import { DeliveryBadge, outcomeText } from "./deliveries_text";
import type { PageProps } from "./index";

export function DeliveryPage({ params }: PageProps) {
  const id = organization.value?.id ?? "";
  const eventId = params["event_id"] ?? "";
  const found = useResource<Delivery>(`${id}/${eventId}`, (signal) => call(`${id}/deliveries/${eventId}`, { signal }));
  useLiveReload(["delivery"], found.reload, (change) => change.id === eventId);
  const trail = [{ to: `${id}/deliveries`, title: "Deliveries" }];
  const delivery = found.data;
  if (delivery === null) {
    return (
      <>
        <PageHead title="Delivery" trail={trail} />
        {found.error === null ? (
          <Loading what="the delivery" />
        ) : found.error.status === 404 ? (
          <Empty title="Delivery not found">
            <p>It may have been removed with its run after the retention time.</p>
          </Empty>
        ) : (
          <Failure error={found.error} onRetry={found.reload} />
        )}
      </>
    );
  }
  const last = delivery.last_replay;
  return (
    <>
      <PageHead
        title={delivery.event}
        trail={trail}
        badge={<DeliveryBadge delivery={delivery} />}
        actions={<ReplayOne delivery={delivery} organizationId={id} onChanged={found.reload} />}
      >
        <p class="run-id">
          <code class="mono small">{delivery.event_id}</code>
          <CopyButton text={delivery.event_id} label="Copy the event’s id" />
        </p>
      </PageHead>
      {found.error && <Failure error={found.error} onRetry={found.reload} />}
      <Section title="Event">
        <dl class="facts">
          <dt>Happened</dt>
          <dd>
            <Time at={delivery.ts} as="local" />
          </dd>
          <dt>Run</dt>
          <dd>
            <Link to={`${id}/runs/${delivery.run_id}`}>
              <code class="mono small">{delivery.run_id}</code>
            </Link>
            , its event {delivery.seq}
          </dd>
          <dt>Endpoint</dt>
          <dd class="host">{delivery.host}</dd>
          {delivery.next_attempt_at !== null && (
            <>
              <dt>Next attempt</dt>
              <dd>
                <Time at={delivery.next_attempt_at} as="local" />
              </dd>
            </>
          )}
          {delivery.finished_at !== null && (
            <>
              <dt>{delivery.status === "failed" ? "Failed" : "Delivered"}</dt>
              <dd>
                <Time at={delivery.finished_at} as="local" />
              </dd>
            </>
          )}
          {last !== null && (
            <>
              <dt>Last replay</dt>
              <dd>
                {last.requested_by !== null && <span dir="auto">{`${last.requested_by}, `}</span>}
                <Time at={last.requested_at} as="local" />: {last.outcome === null ? "it could not be sent" : outcomeText(last.outcome, last.http_status)}
              </dd>
            </>
          )}
        </dl>
      </Section>
      <Section title="Attempts">
        <Attempts delivery={delivery} />
        <WhyNot delivery={delivery} />
      </Section>
    </>
  );
}
