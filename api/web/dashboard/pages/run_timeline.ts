/** What happened in a run, in order: pure, for the page of a run. */
import { type Delivery, isRetried } from "./deliveries_types";
import { type Answered, answeredSteps, isOpen, type RunStory, type StoryStep } from "./runs_types";

export type Item =
  | { readonly kind: "dispatched" | "opened" | "identified" | "signed" | "ended"; readonly key: string }
  | ({ readonly kind: "answer"; readonly key: string } & Answered)
  | { readonly kind: "events"; readonly key: string; readonly deliveries: readonly Delivery[] };

/** At the same time, what was done comes before the events that it caused. */
const ACT = 0;
const EVENT = 1;

interface Dated {
  readonly at: number;
  readonly rank: number;
  readonly item: Item;
}

/** Oldest first. Adjacent events are one item; the end, or what the run waits for, comes after the acts. */
export function timelineOf(story: RunStory, deliveries: readonly Delivery[]): readonly Item[] {
  const first: Item[] = [{ kind: "dispatched", key: "dispatched" }];
  if (story.assigned_to !== null) first.push({ kind: "opened", key: "opened" });
  if (story.executor_identity.mode === "external" && story.executor_identity.name !== null) first.push({ kind: "identified", key: "identified" });
  const dated: Dated[] = [];
  for (const answered of answeredSteps(story)) dated.push({ at: Date.parse(answered.answer.at), rank: ACT, item: { kind: "answer", key: answered.step.id, ...answered } });
  if (story.signature !== null) dated.push({ at: Date.parse(story.signature.signed_at), rank: ACT, item: { kind: "signed", key: "signed" } });
  const ended = story.completed_at ?? story.cancelled_at ?? (story.status === "expired" ? story.expires_at : null);
  const end: Item = { kind: "ended", key: "ended" };
  if (ended !== null && !isOpen(story.status)) dated.push({ at: Date.parse(ended), rank: ACT, item: end });
  let last = 0;
  for (const delivery of deliveries) {
    // An event of an earlier release has no time: it follows its predecessor.
    last = delivery.ts === null ? last : Date.parse(delivery.ts);
    dated.push({ at: last, rank: EVENT, item: { kind: "events", key: delivery.event_id, deliveries: [delivery] } });
  }
  // Stable: answers at the same time stay in the order of the checklist, events in theirs.
  dated.sort((one, other) => one.at - other.at || one.rank - other.rank);
  const rest = dated.map(({ item }) => item);
  return joined([...first, ...rest, ...(rest.includes(end) ? [] : [end])]);
}

function joined(items: readonly Item[]): readonly Item[] {
  const found: Item[] = [];
  for (const item of items) {
    const before = found.at(-1);
    if (item.kind === "events" && before?.kind === "events") found[found.length - 1] = { ...before, deliveries: [...before.deliveries, ...item.deliveries] };
    else found.push(item);
  }
  return found;
}

/** "3 events, 1 failed, 1 waiting" of a folded group. */
export function eventsText(deliveries: readonly Delivery[]): string {
  const failed = deliveries.filter(({ status }) => status === "failed").length;
  const waiting = deliveries.filter(({ status }) => status === "pending" || status === "in_flight").length;
  const [one] = deliveries;
  const what = deliveries.length === 1 && one !== undefined ? one.event : `${deliveries.length} events`;
  if (failed + waiting === 0) return `${what}, ${deliveries.length === 1 ? "delivered" : "all delivered"}`;
  return [what, ...(failed > 0 ? [deliveries.length === 1 ? "failed" : `${failed} failed`] : []), ...(waiting > 0 ? [deliveries.length === 1 ? "waiting" : `${waiting} waiting`] : [])].join(", ");
}

/** Applicable steps without an answer, by section, and those that do not apply. */
export function unanswered(story: RunStory): readonly { readonly title: string; readonly steps: readonly StoryStep[] }[] {
  return story.sections
    .map(({ title, steps }) => ({ title, steps: steps.filter(({ state }) => state === "open" || state === "skipped" || state === "not_applicable") }))
    .filter(({ steps }) => steps.length > 0);
}

/** Deliveries that need attention: failed, or waiting after an attempt that failed. */
export function troubled(deliveries: readonly Delivery[]): readonly Delivery[] {
  return deliveries.filter((delivery) => delivery.status === "failed" || isRetried(delivery));
}
