/**
 * Applies a state read from the server to the records: it never undoes newer changes, and reports changes of other
 * devices.
 */
import type { Answer, JsonValue, ServerRun } from "../../core/types";
import { answerKey, type Operation, type Records, type RunRecord, stepOf } from "./records";
import { afterClose, withNotice } from "./transitions";

type Run = RunRecord["run"];

/** A state that was requested at `epoch` (-1: there was none); `now` is the server's time. */
export function refreshed(before: Records, read: Run, epoch: number, clockOffsetMs: number, now: Date): Records {
  const record = before.run;
  if ((record?.epoch ?? -1) !== epoch) return before;
  if (record === null) return settled({ ...before, run: { epoch: 0, run: read, clockOffsetMs } });
  const run = withFreshAddresses(record.run, read, now);
  if (JSON.stringify(run) === JSON.stringify(record.run)) return settled(before);
  const steps = changedElsewhere(record.run, run, before.queue);
  const after = { ...before, run: { epoch: epoch + 1, run, clockOffsetMs } };
  const replaced = steps.flatMap((stepId) => {
    const value = record.run.answers[stepId]?.value ?? null;
    return value === null ? [] : [{ stepId, value }];
  });
  const notified = steps.length === 0 ? after : withNotice(after, "other_device", steps, replaced);
  const ownEnd = before.queue.some((operation) => operation.attempts > 0 && stepOf(operation) === null);
  const closedMeanwhile = isOpen(record.run) && !isOpen(run) && !ownEnd;
  return settled(closedMeanwhile ? withNotice(notified, "closed_elsewhere", []) : notified);
}

/** The server reported that the run is over, without its state. */
export function expired(before: Records): Records {
  if (before.run === null) return before;
  const { run, epoch } = before.run;
  if (!isOpen(run)) return settled(before);
  const after: Records = { ...before, run: { ...before.run, epoch: epoch + 1, run: { ...run, status: "expired" } } };
  return settled(withNotice(after, "closed_elsewhere", []));
}

export function isOpen(run: Pick<Run, "status">): boolean {
  return run.status === "pending" || run.status === "in_progress";
}

export function withoutTemplate(run: ServerRun): Run {
  const { template: _, ...rest } = run;
  return rest;
}

function settled(before: Records): Records {
  return before.run === null || isOpen(before.run.run) ? before : afterClose(before, null);
}

/**
 * The steps whose answer another device has changed. A change that matches a sent operation without a response is not
 * counted.
 */
function changedElsewhere(old: Run, now: Run, queue: readonly Operation[]): string[] {
  const own = new Set(queue.filter((operation) => operation.attempts > 0 && hasHappened(operation, now)).map(stepOf));
  // When a run is completed, answers and skips of steps that do not apply are removed.
  const isLeft = (stepId: string) => isOpen(now) || now.applicable_steps.includes(stepId);
  const steps = new Set([...Object.keys(old.answers), ...Object.keys(now.answers), ...old.skipped_steps, ...now.skipped_steps]);
  return [...steps].filter((stepId) => {
    if (own.has(stepId) || !isLeft(stepId)) return false;
    const skips = old.skipped_steps.includes(stepId) !== now.skipped_steps.includes(stepId);
    return skips || mark(old.answers[stepId]) !== mark(now.answers[stepId]);
  });
}

function hasHappened(operation: Operation, now: Run): boolean {
  const stepId = stepOf(operation) ?? "";
  if (operation.kind === "answer") {
    const answer = now.answers[stepId];
    return answer !== undefined && answerKey(answer.value) === answerKey(operation.value);
  }
  if (operation.kind === "clear") return now.answers[stepId] === undefined;
  if (operation.kind === "skip") return now.skipped_steps.includes(stepId);
  // The origin of a photo is not known.
  return true;
}

const ADDRESS_LASTS_MS = 10 * 60_000;

/** URLs are signed again at each read; the earlier ones are kept while valid, so that no picture is loaded twice. */
function withFreshAddresses(old: Run, read: Run, now: Date): Run {
  const answers = Object.entries(read.answers).map(([stepId, answer]): [string, Answer] => {
    const photos = answer.photos.map((photo) => {
      const known = old.answers[stepId]?.photos.find((other) => other.photo_index === photo.photo_index);
      const usable = known !== undefined && known.sha256 === photo.sha256 && lasts(known.url, now);
      if (!usable) return photo;
      return { ...photo, url: known.url, ...(known.thumbnail_url ? { thumbnail_url: known.thumbnail_url } : {}) };
    });
    return [stepId, { ...answer, value: withFreshAddress(old.answers[stepId]?.value, answer.value, now), photos }];
  });
  return { ...read, answers: Object.fromEntries(answers) };
}

/** The value of a signature contains the URL of its drawing. */
function withFreshAddress(old: JsonValue | undefined, read: JsonValue, now: Date): JsonValue {
  const [was, is] = [addressIn(old), addressIn(read)];
  const usable = was !== null && is !== null && answerKey(old) === answerKey(read) && lasts(was, now);
  return usable && old !== undefined ? old : read;
}

function addressIn(value: JsonValue | undefined): string | null {
  const url = typeof value === "object" && value !== null && "url" in value ? value.url : null;
  return typeof url === "string" ? url : null;
}

function lasts(url: string, now: Date): boolean {
  const end = /[?&]e=(\d+)/.exec(url)?.[1];
  return end !== undefined && Number(end) * 1000 - now.getTime() > ADDRESS_LASTS_MS;
}

/** A key to compare answers, without signed URLs. */
function mark(answer: Answer | undefined): string {
  if (answer === undefined) return "";
  return JSON.stringify([answer.at, answerKey(answer.value), answer.photos.map((photo) => photo.photo_index)]);
}
