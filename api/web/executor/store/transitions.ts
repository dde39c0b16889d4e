/**
 * All changes of the records as pure functions. The caller runs them inside one transaction, so that tabs of the same
 * run never see a partial change.
 */
import type { Answer, Change, JsonValue, Problem } from "../../core/types";
import type { Links } from "./links";
import { answerKey, isOnDrawing, type Lost, type Operation, type Records, type Refused, type RunRecord, stepOf, type Command } from "./records";
import type { Notice, Replaced } from "./types";

export interface Stamp {
  readonly opId: string;
  readonly at: string;
  readonly member?: string;
}

type Run = RunRecord["run"];

/**
 * Adds a command to the queue. It replaces an unsent operation of the same step if moving it there does not change the
 * effect of any other operation.
 */
export function enqueued(before: Records, command: Command, stamp: Stamp, links: Links): Records {
  const stepId = stepOf(command);
  if (command.kind === "submit" || command.kind === "cancel") return ending(before, command, stamp, null);
  const open = stepId === null ? before : withdrawn(before);
  if (command.kind === "photo_removed") return photoRemoved(open, command, stamp, links);
  const cleared = withoutRefusals(open, command.kind, stepId);
  const trimmed = command.kind === "clear" || command.kind === "skip" ? withoutUnsentPhotos(cleared, command, links) : cleared;
  const older = replaceable(trimmed.queue, command, links);
  if (older === null) return appended(trimmed, command, stamp);
  const replacement: Operation = { ...command, ...stamp, seq: older.seq, attempts: 0 };
  return { ...trimmed, queue: trimmed.queue.map((operation) => (operation === older ? replacement : operation)) };
}

/**
 * Gives a photo that was added in place of an unsent one the other's position among the photos of the step. `before` is
 * from before the other was removed; of a photo that was sent, the server keeps the order by arrival.
 */
export function inPlaceOf(before: Records, after: Records, replaced: string, opId: string, links: Links): Records {
  const place = before.queue.findIndex((operation) => operation.kind === "photo" && operation.opId === replaced);
  const [older, photo] = [before.queue[place], after.queue.find((operation) => operation.opId === opId)];
  if (older === undefined || photo === undefined || after.queue.some((operation) => operation.opId === replaced)) return after;
  const isFree = (later: Operation) =>
    later.kind === "identity" || (later.kind === "photo" && stepOf(later) === stepOf(older)) || !links.related(later, photo);
  if (!before.queue.slice(place + 1).every(isFree)) return after;
  const others = without(after.queue, photo);
  const start = others.filter((operation) => operation.seq < older.seq);
  return { ...after, queue: [...start, { ...photo, seq: older.seq }, ...others.slice(start.length)] };
}

/**
 * Queues the submit or cancellation; with `drawing`, the drawing of the signature before it, and else with `removal` the
 * removal of an earlier one, if the server may have it: it would be part of the signature.
 */
export function ending(
  before: Records,
  command: Extract<Command, { kind: "submit" | "cancel" }>,
  stamp: Stamp,
  drawing: Stamp | null,
  removal: Stamp | null = null,
): Records {
  // A repeated tap. An attempt may have closed the run already; it is only sent again.
  if (before.queue.some((operation) => operation.kind === command.kind && operation.attempts > 0)) return before;
  const open = withoutRefusals(withdrawn(before), command.kind);
  if (drawing !== null) return appended(appended(open, { kind: "signature" }, drawing), command, stamp);
  const isDrawn = (before.run?.run.signature_drawing ?? null) !== null || open.queue.some(isOnDrawing);
  return appended(removal !== null && isDrawn ? appended(open, { kind: "signature_removed" }, removal) : open, command, stamp);
}

/** Withdraws the queued submit or cancellation if it was never sent, and its drawing under the same condition. */
export function withdrawn(before: Records): Records {
  const end = before.queue.find((operation) => operation.kind === "submit" || operation.kind === "cancel");
  if (end === undefined || end.attempts > 0) return before;
  const queue = before.queue.filter((operation) => operation !== end && !(isOnDrawing(operation) && operation.attempts === 0));
  return { ...before, queue };
}

/** Marks the operation as possibly sent. */
export function attempted(before: Records, opId: string): Records {
  const queue = before.queue.map((operation) => {
    if (operation.opId !== opId) return operation;
    const sent = { ...operation, attempts: operation.attempts + 1 };
    return sent.kind === "photo" && sent.attempts === 1 ? { ...sent, indexBefore: lastIndex(before, sent.stepId) } : sent;
  });
  return { ...before, queue };
}

/** The last attempt was not applied. `tried` is the operation with that attempt, which could perhaps not be stored. */
export function reverted(before: Records, tried: Operation): Records {
  const queue = before.queue.map((operation) => {
    const isStored = operation.opId === tried.opId && operation.attempts >= tried.attempts;
    return isStored ? { ...operation, attempts: operation.attempts - 1 } : operation;
  });
  return { ...before, queue };
}

/** The server applied the operation, now or at an earlier attempt. */
export function confirmed(before: Records, done: Operation, change: Change): Records {
  const [after, record] = [dequeued(before, done, change), before.run];
  if (record === null) return after;
  return { ...after, run: { ...record, epoch: record.epoch + 1, run: runAfter(record.run, done, change) } };
}

/** Removes an applied operation from the queue, without its effect on the run. */
export function dequeued(before: Records, done: Operation, change: Change): Records {
  const queue = without(before.queue, done).flatMap((operation) => withIndexOf(operation, done, indexOfNew(before, done, change)));
  return { ...before, queue };
}

/**
 * The server rejected the operation for good. A submit queued after it is removed: the person has not seen the
 * rejection.
 */
export function refused(before: Records, done: Operation, problems: readonly Problem[]): Records {
  // A photo that does not exist counts as removed.
  if (done.kind === "photo_removed") return { ...before, queue: without(before.queue, done) };
  const entry: Refused = { operation: done, problems };
  const stepId = stepOf(done);
  const rest = withdrawn({ ...before, queue: without(before.queue, done) });
  // Its photo has no index, so there is nothing to remove.
  const orphaned = (operation: Operation) =>
    operation.kind === "photo_removed" && operation.index === null && operation.photoKey === done.opId;
  const gone = done.kind === "photo" && rest.queue.some(orphaned);
  const after = { ...rest, queue: rest.queue.filter((operation) => !orphaned(operation)) };
  // A newer answer of the step is queued; the rejection of the older one is irrelevant.
  const outdated = after.queue.some((operation) => isAnswering(operation) && isAnswering(done) && stepOf(operation) === stepId);
  if (gone || outdated) return after;
  const others = after.refused.filter((other) => !sameSubject(other.operation, done));
  return withNotice({ ...after, refused: [...others, entry] }, "refused", stepId === null ? [] : [stepId]);
}

/**
 * The run is closed. Operations that were never sent cannot have arrived; one that was sent is sent again to find out,
 * so of those only `done` is discarded.
 */
export function afterClose(before: Records, done: Operation | null): Records {
  const given = before.queue.filter((operation) => operation.opId === done?.opId || operation.attempts === 0);
  if (given.length === 0) return before;
  const queue = before.queue.filter((operation) => !given.includes(operation));
  const lost = [...before.lost, ...given.flatMap((operation) => lostBy(operation, before.run?.run ?? null))];
  const steps = lost.flatMap((entry) => (entry.stepId === null ? [] : [entry.stepId]));
  const notified = withNotice({ ...before, queue, lost }, "closed_elsewhere", []);
  return lost.length === 0 ? notified : withNotice(notified, "not_arrived", steps);
}

/** The server requires an identity, although the last known state had one. */
export function withoutIdentity(before: Records): Records {
  const record = before.run;
  if (record === null || record.run.executor_identity.mode !== "external") return before;
  const run: Run = { ...record.run, executor_identity: { mode: "external", name: null, email: null } };
  return { ...before, run: { ...record, epoch: record.epoch + 1, run } };
}

/** Removes a dismissed notice. */
export function dismissed(before: Records, noticeId: string): Records {
  const lost = noticeId === "not_arrived" ? [] : before.lost;
  return { ...before, lost, notices: before.notices.filter((notice) => notice.id !== noticeId) };
}

/** Removes a photo that the server rejected. */
export function refusedPhotoRemoved(before: Records, opId: string): Records {
  const left = before.refused.filter((entry) => entry.operation.opId !== opId);
  return left.length === before.refused.length ? before : { ...before, refused: left, notices: pruned(before, left) };
}

function appended(before: Records, command: Command, stamp: Stamp): Records {
  const seq = Math.max(0, ...before.queue.map((operation) => operation.seq), ...before.lost.map((entry) => entry.seq)) + 1;
  return { ...before, queue: [...before.queue, { ...command, ...stamp, seq, attempts: 0 }] };
}

function isAnswering(command: Command): boolean {
  return command.kind === "answer" || command.kind === "clear" || command.kind === "skip";
}

/** The unsent operation that `command` may replace. Clearing and skipping also remove photos, answering does not. */
function replaceable(queue: readonly Operation[], command: Command, links: Links): Operation | null {
  const subject = (operation: Operation) =>
    command.kind === "identity" ? operation.kind === "identity" : stepOf(command) !== null && stepOf(operation) === stepOf(command);
  const place = queue.findLastIndex(subject);
  const older = queue[place];
  if (older === undefined || older.attempts > 0) return null;
  if (command.kind === "identity") return older;
  if (!isAnswering(command) || !isAnswering(older)) return null;
  if (command.kind === "answer" && older.kind !== "answer") return null;
  return canMove(queue, place, command, links) ? older : null;
}

/** Whether `command` would have the same effect at `place` in the queue. */
function canMove(queue: readonly Operation[], place: number, command: Command, links: Links): boolean {
  return queue.slice(place + 1).every((later) => later.kind === "identity" || !links.related(later, command));
}

/** Unsent photos of the step are dropped: the command removes all of them. */
function withoutUnsentPhotos(before: Records, command: Command, links: Links): Records {
  const stepId = stepOf(command);
  const others = before.queue.filter((operation) => stepOf(operation) !== stepId);
  const spare = (operation: Operation) =>
    operation.kind === "photo" &&
    operation.stepId === stepId &&
    operation.attempts === 0 &&
    others.every((other) => other.seq < operation.seq || other.kind === "identity" || !links.related(other, operation));
  return { ...before, queue: before.queue.filter((operation) => !spare(operation)) };
}

function photoRemoved(
  before: Records,
  command: Extract<Command, { kind: "photo_removed" }>,
  stamp: Stamp,
  links: Links,
): Records {
  const doubled = before.queue.some(
    (operation) => operation.kind === "photo_removed" && operation.stepId === command.stepId &&
      (command.index === null ? operation.photoKey === command.photoKey : operation.index === command.index),
  );
  if (doubled) return before;
  const place = before.queue.findIndex((operation) => operation.kind === "photo" && operation.opId === command.photoKey);
  const photo = before.queue[place];
  if (photo === undefined) return command.index === null ? before : appended(before, command, stamp);
  const others = before.queue.filter((operation) => stepOf(operation) !== command.stepId);
  const unsent = photo.attempts === 0 && others.every((other) => other.seq < photo.seq || !links.related(other, photo));
  if (unsent) return { ...before, queue: before.queue.filter((operation) => operation !== photo) };
  return appended(before, { ...command, index: null }, stamp);
}

function without(queue: readonly Operation[], done: Operation): readonly Operation[] {
  return queue.filter((operation) => operation.opId !== done.opId);
}

/** The index of an uploaded photo: from the server, else the one that its step did not have before. */
function indexOfNew(before: Records, done: Operation, change: Change): number | null {
  if (done.kind !== "photo") return null;
  if (change.photo) return change.photo.photo_index;
  const known = before.run?.run.answers[done.stepId]?.photos.map((photo) => photo.photo_index) ?? [];
  return change.answer?.photos.map((photo) => photo.photo_index).find((index) => !known.includes(index)) ?? null;
}

function lastIndex(before: Records, stepId: string): number {
  const photos = before.run?.run.answers[stepId]?.photos ?? [];
  return Math.max(-1, ...photos.map((photo) => photo.photo_index));
}

/** Sets the index of a pending removal; without an index, the photo was removed already. */
function withIndexOf(operation: Operation, done: Operation, index: number | null): Operation[] {
  if (operation.kind !== "photo_removed" || done.kind !== "photo" || operation.photoKey !== done.opId) return [operation];
  return index === null ? [] : [{ ...operation, index }];
}

function runAfter(run: Run, done: Operation, change: Change): Run {
  const answers: Record<string, Answer> = { ...run.answers };
  const stepId = stepOf(done);
  if (stepId !== null) {
    const known = answers[stepId];
    if (change.answer) answers[stepId] = change.answer;
    else if (done.kind === "photo_removed" && change.answer === undefined && known !== undefined) {
      answers[stepId] = { ...known, photos: known.photos.filter((photo) => photo.photo_index !== done.index) };
    } else delete answers[stepId];
  }
  return {
    ...run,
    status: change.status,
    ...changesAfter(run, change),
    progress: change.progress,
    applicable_steps: change.applicable_steps,
    skipped_steps: change.skipped_steps,
    executor_identity:
      done.kind === "identity"
        ? { mode: "external", name: done.name, email: done.email }
        : run.executor_identity,
    answers,
    signature_drawing: change.signature_drawing ?? null,
    receipt: change.receipt ?? run.receipt ?? null,
  };
}

/**
 * The number of changes after an own one. If it grew by more than that one, another device was in between: then the
 * state is not that of the new number, and must be read. An operation that had been applied before is no change.
 */
function changesAfter(run: Run, { changes, replayed }: Change): Pick<Run, "changes"> {
  const known = run.changes ?? null;
  return known !== null && changes === known + 1 && !replayed ? { changes } : {};
}

function lostBy(operation: Operation, run: Run | null): Lost[] {
  const { seq, at, kind } = operation;
  if (!("stepId" in operation)) return [];
  const value: JsonValue = operation.kind === "answer" ? operation.value : null;
  const same = run !== null && answerKey(run.answers[operation.stepId]?.value) === answerKey(value);
  return kind === "answer" && same ? [] : [{ seq, at, kind, value, stepId: operation.stepId }];
}

function sameSubject(one: Operation, other: Operation): boolean {
  if (one.kind === "photo" || other.kind === "photo") return one.opId === other.opId;
  return stepOf(one) === null ? one.kind === other.kind : stepOf(one) === stepOf(other);
}

/** A new command resolves rejections of the same step or kind; a changed step also those of the submit. */
function withoutRefusals(before: Records, kind: Command["kind"], stepId: string | null = null): Records {
  const left = before.refused.filter(({ operation }) => {
    if (stepId === null) return operation.kind !== kind && !(kind === "submit" && isOnDrawing(operation));
    if (operation.kind === "submit") return false;
    if (operation.kind === "photo") return !(operation.stepId === stepId && (kind === "clear" || kind === "skip"));
    return kind === "photo" || stepOf(operation) !== stepId;
  });
  if (left.length === before.refused.length) return before;
  return { ...before, refused: left, notices: pruned(before, left) };
}

function pruned(before: Records, left: readonly Refused[]): readonly Notice[] {
  const steps = new Set(left.flatMap(({ operation }) => stepOf(operation) ?? []));
  return before.notices.flatMap((notice) => {
    if (notice.kind !== "refused") return [notice];
    const stepIds = notice.stepIds.filter((stepId) => steps.has(stepId));
    return stepIds.length > 0 ? [{ ...notice, stepIds }] : [];
  });
}

/** One notice per kind, listing all its steps, with the values that were seen first. */
export function withNotice(
  before: Records,
  kind: Notice["kind"],
  stepIds: readonly string[],
  replaced: readonly Replaced[] = [],
): Records {
  const known = before.notices.find((notice) => notice.kind === kind);
  const steps = [...new Set([...(known?.stepIds ?? []), ...stepIds])];
  const seen = known?.replaced ?? [];
  const all = [...seen, ...replaced.filter(({ stepId }) => !seen.some((other) => other.stepId === stepId))];
  const notice: Notice = { id: kind, kind, stepIds: steps, ...(all.length > 0 ? { replaced: all } : {}) };
  return { ...before, notices: [...before.notices.filter((other) => other !== known), notice] };
}
