/** Texts for the service's codes about deliveries. */
import { Badge, type BadgeTone } from "../parts/badge";
import type { IconName } from "../../kit/controls/icon";
import { localTime } from "../parts/time";
import type { Delivery, Replay, ReplayFilter } from "./deliveries_types";

export const EVENTS: readonly { readonly value: string; readonly title: string; readonly means: string }[] = [
  { value: "step.completed", title: "step.completed", means: "A step is answered." },
  { value: "step.skipped", title: "step.skipped", means: "A step that is not required is skipped." },
  { value: "run.completed", title: "run.completed", means: "The checklist is submitted, with all answers." },
  { value: "run.cancelled", title: "run.cancelled", means: "The executor gives up, or you cancel." },
  { value: "run.expired", title: "run.expired", means: "The link expires before the checklist is submitted." },
];

const STATUS_WORDS: Readonly<Record<Delivery["status"], readonly [word: string, tone: BadgeTone, icon: IconName]>> = {
  pending: ["Waiting", "info", "clock"],
  in_flight: ["Being sent", "info", "send"],
  delivered: ["Delivered", "good", "check-circle"],
  failed: ["Failed", "bad", "alert"],
};

export const DELIVERY_STATUSES = Object.entries(STATUS_WORDS).map(([value, [title]]) => ({ value, title }));

export function DeliveryBadge({ delivery }: { delivery: Delivery }) {
  if (delivery.replay_refusal === "replay_under_way") {
    return (
      <Badge tone="info" icon="retake">
        Being replayed
      </Badge>
    );
  }
  const [word, tone, icon] = STATUS_WORDS[delivery.status];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}

const REPLAY_WORDS: Readonly<Record<Replay["status"], readonly [word: string, tone: BadgeTone]>> = {
  pending: ["Waiting", "neutral"],
  running: ["Running", "info"],
  completed: ["Finished", "good"],
  refused: ["Not begun", "bad"],
};

export function ReplayBadge({ replay }: { replay: Replay }) {
  const [word, tone] = REPLAY_WORDS[replay.status];
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
export function outcomeWords(outcome: string | null, status: number | null): string {
  const words = outcome === null ? "Unknown" : (OUTCOMES[outcome] ?? outcome);
  return status === null ? words : `${status} ${words.replace(/ \(\dxx\)$/, "")}`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  retry_pending: "more attempts are still to come",
  replay_under_way: "a replay is under way",
  payload_not_kept: "what a step’s event said is not kept once it was delivered",
  run_deleted: "its run is gone, and with it the secret to sign with",
  run_archived: "its run is in the archive, whose events can be read but are not sent again",
};

/** Why something cannot be replayed, as the end of a sentence. */
export function refusalWords(reason: string): string {
  return REFUSALS[reason] ?? reason;
}

/** "failed run.cancelled events to hooks.example.com that failed since 21 Nov 2026, 14:00" */
export function filterWords(filter: ReplayFilter): string {
  const which = filter.event_ids.length > 0 ? `${filter.event_ids.length} chosen` : filter.status === "delivered" ? "delivered" : "failed";
  const parts = [`${which} ${filter.event === null ? "deliveries" : `deliveries of ${filter.event}`}`, `to ${filter.host ?? "every endpoint"}`];
  if (filter.run_id !== null) parts.push(`of run ${filter.run_id}`);
  if (filter.outcome !== null) parts.push(`whose last attempt ended with “${OUTCOMES[filter.outcome] ?? filter.outcome}”`);
  if (filter.finished_after !== null) parts.push(`given up since ${localTime(filter.finished_after)}`);
  if (filter.finished_before !== null) parts.push(`given up before ${localTime(filter.finished_before)}`);
  return parts.join(" ");
}
