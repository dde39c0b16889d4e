/** One delivery with all its attempts and its replay. */
import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { Confirm } from "../parts/confirm";
import { DataTable, type Column } from "../parts/table";
import { duration, Time } from "../parts/time";
import { toast } from "../parts/toast";
import { may } from "../session";
import type { Attempt, Delivery } from "./deliveries_types";
import { DeliveryBadge, outcomeText, refusalText } from "./deliveries_text";

const POLL_MS = 1_500;

const ATTEMPTS: readonly Column<Attempt>[] = [
  { key: "number", title: "Attempt", cell: (attempt) => (attempt.manual ? "Replay" : `${attempt.number} of 5`) },
  { key: "started", title: "Sent", cell: (attempt) => <Time at={attempt.started_at} as="second" /> },
  { key: "duration", title: "Took", end: true, cell: (attempt) => duration(attempt.duration_ms) },
  {
    key: "outcome",
    title: "Outcome",
    cell: (attempt) => (
      <span class="attempt-outcome">
        <span class={attempt.outcome === "success" ? "is-good" : "is-bad"}>
          <Icon name={attempt.outcome === "success" ? "check" : "alert"} />
          {outcomeText(attempt.outcome, attempt.http_status)}
        </span>
        {attempt.detail !== null && (
          <span class="quiet small" dir="auto">
            {attempt.detail}
          </span>
        )}
      </span>
    ),
  },
  { key: "next", title: "Next attempt due", cell: (attempt) => <Time at={attempt.next_attempt_at} as="local" /> },
];

interface DeliveryProps {
  delivery: Delivery;
  organizationId: string;
  /** Reloads the delivery. */
  onChanged(): void;
}

export function Attempts({ delivery }: { delivery: Delivery }) {
  if (delivery.attempts.length === 0) return <p class="quiet">No attempts yet.</p>;
  return (
    <DataTable
      caption={`Attempts to deliver ${delivery.event}`}
      columns={ATTEMPTS}
      rows={delivery.attempts}
      rowKey={(attempt) => `${attempt.started_at}-${attempt.number}-${attempt.manual}`}
    />
  );
}

/** The status in one line. */
export function Standing({ delivery }: { delivery: Delivery }) {
  return (
    <>
      <DeliveryBadge delivery={delivery} />
      {delivery.next_attempt_at !== null && (
        <span class="quiet small">
          next try <Time at={delivery.next_attempt_at} />
        </span>
      )}
    </>
  );
}

/** The replay button with its confirmation and result. Empty for members who may not replay. */
export function ReplayOne({ delivery, organizationId, onChanged }: DeliveryProps) {
  const [asking, setAsking] = useState(false);
  /** The replay before the one requested here; undefined if none was requested. */
  const before = useRef<string | null | undefined>(undefined);
  const underWay = delivery.replay_refusal === "replay_under_way";

  useEffect(() => {
    if (!underWay) return;
    const timer = setInterval(onChanged, POLL_MS);
    return () => clearInterval(timer);
  }, [underWay, onChanged]);

  useEffect(() => {
    const last = delivery.last_replay;
    if (before.current === undefined || underWay || last === null || last.requested_at === before.current) return;
    before.current = undefined;
    if (last.outcome === "success") toast(`${delivery.event} was delivered to ${delivery.host}.`);
    else if (last.outcome === null) toast(`${delivery.event} could not be sent.`, "bad");
    else toast(`${delivery.event} failed again: ${outcomeText(last.outcome, last.http_status)}.`, "bad");
  }, [delivery, underWay]);

  if (!may("editor")) return null;
  if (underWay) {
    return (
      <p class="replaying small" role="status">
        <span class="spinner" /> Replaying …
      </p>
    );
  }
  if (!delivery.replayable) return null;
  const replay = async () => {
    before.current = delivery.last_replay?.requested_at ?? null;
    try {
      await call(`${organizationId}/deliveries/${delivery.event_id}/replay`, { method: "POST", json: {} });
    } catch (error) {
      before.current = undefined;
      throw error;
    }
    onChanged();
  };
  return (
    <>
      <button type="button" class="button" aria-label={`Replay ${delivery.event}, event ${delivery.seq}`} onClick={() => setAsking(true)}>
        <Icon name="retake" />
        Replay
      </button>
      {asking && (
        <Confirm title={`Send ${delivery.event} to ${delivery.host} again?`} act="Send again" harmless onConfirm={replay} onClose={() => setAsking(false)}>
          <p>
            The receiver gets the same event with the same <code>event_id</code> and a new signature. There is one attempt and no retry.
          </p>
          {delivery.status === "delivered" && <p>It was delivered before. A receiver that does not deduplicate by id processes it twice.</p>}
        </Confirm>
      )}
    </>
  );
}

export function WhyNot({ delivery }: { delivery: Delivery }) {
  const reason = delivery.replay_refusal;
  if (reason === null || reason === "replay_under_way" || !may("editor")) return null;
  return <p class="quiet small">Cannot be replayed now: {refusalText(reason)}.</p>;
}
