/** Texts for the service's codes about deliveries. */
import { Badge, type BadgeTone } from "../parts/badge";
import type { IconName } from "../../kit/controls/icon";
import { localTime } from "../parts/time";
import { type Delivery, isRetried, type Replay, type ReplayFilter } from "./deliveries_types";

export const EVENTS: readonly { readonly value: string; readonly title: string; readonly means: string }[] = [
  { value: "step.completed", title: "step.completed", means: "A step is answered." },
  { value: "step.skipped", title: "step.skipped", means: "A step that is not required is skipped." },
  { value: "run.completed", title: "run.completed", means: "The checklist is submitted, with all answers." },
  { value: "run.cancelled", title: "run.cancelled", means: "The executor or a member cancels the run." },
  { value: "run.expired", title: "run.expired", means: "The link expires before the checklist is submitted." },
];

const STATUS_TEXTS: Readonly<Record<Delivery["status"], readonly [word: string, tone: BadgeTone, icon: IconName]>> = {
  pending: ["Waiting or retrying", "info", "clock"],
  in_flight: ["Being sent", "info", "send"],
  delivered: ["Delivered", "good", "check-circle"],
  failed: ["Failed", "bad", "alert"],
};

export const DELIVERY_STATUSES = Object.entries(STATUS_TEXTS).map(([value, [title]]) => ({ value, title }));

export function DeliveryBadge({ delivery }: { delivery: Delivery }) {
  if (delivery.replay_refusal === "replay_under_way") {
    return (
      <Badge tone="info" icon="retake">
        Being replayed
      </Badge>
    );
  }
  const [word, tone, icon] = isRetried(delivery) ? (["Retrying", "warn", "retake"] as const) : STATUS_TEXTS[delivery.status];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}

const REPLAY_TEXTS: Readonly<Record<Replay["status"], readonly [word: string, tone: BadgeTone]>> = {
  pending: ["Waiting", "neutral"],
  running: ["Running", "info"],
  completed: ["Finished", "good"],
  refused: ["Rejected", "bad"],
};

export function ReplayBadge({ replay }: { replay: Replay }) {
  const [word, tone] = REPLAY_TEXTS[replay.status];
  if (replay.status === "completed" && replay.failed + replay.refused > 0) return <Badge tone="warn">Finished, not all delivered</Badge>;
  return <Badge tone={tone}>{word}</Badge>;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  success: "Delivered",
  http_3xx: "Redirected (3xx)",
  http_4xx: "Refused (4xx)",
  http_5xx: "Server error (5xx)",
  timeout: "No answer in time",
  dns: "Host name not found",
  connect: "No connection",
  tls: "TLS failed",
  blocked_address: "Address not allowed",
  protocol: "No valid HTTP answer",
};

export const OUTCOME_OPTIONS = Object.entries(OUTCOMES).map(([value, title]) => ({ value, title }));

/** "503 Server error", "No answer in time" */
export function outcomeText(outcome: string | null, status: number | null): string {
  const words = outcome === null ? "Unknown" : (OUTCOMES[outcome] ?? outcome);
  return status === null ? words : `${status} ${words.replace(/ \(\dxx\)$/, "")}`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  retry_pending: "retries are pending",
  replay_under_way: "a replay is in progress",
  payload_not_kept: "the payload of a delivered step event is not stored",
  run_deleted: "its run was deleted with its signing secret",
  run_archived: "its run is archived; archived events cannot be sent again",
};

/** Why something cannot be replayed, as the end of a sentence. */
export function refusalText(reason: string): string {
  return REFUSALS[reason] ?? reason;
}

/** "failed run.cancelled events to hooks.example.com that failed since 21 Nov 2026, 14:00" */
export function filterText(filter: ReplayFilter): string {
  const which = filter.event_ids.length > 0 ? `${filter.event_ids.length} chosen` : filter.status === "delivered" ? "delivered" : "failed";
  const parts = [`${which} ${filter.event === null ? "deliveries" : `deliveries of ${filter.event}`}`, ...(filter.host === null ? [] : [`to ${filter.host}`])];
  if (filter.run_id !== null) parts.push(`of run ${filter.run_id}`);
  if (filter.outcome !== null) parts.push(`whose last attempt ended with “${OUTCOMES[filter.outcome] ?? filter.outcome}”`);
  if (filter.finished_after !== null) parts.push(`failed since ${localTime(filter.finished_after)}`);
  if (filter.finished_before !== null) parts.push(`failed before ${localTime(filter.finished_before)}`);
  return parts.join(" ");
}
