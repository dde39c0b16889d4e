/**
 * Every change of what is kept, as a function of what was kept before. No clock, no network, no storage: the caller
 * runs them inside one transaction, so that tabs of the same run never see or make half a change.
 */
import type { Answer, Change, JsonValue, Problem } from "../../core/types";
import type { Links } from "./links";
import { essenceOf, type Lost, type Operation, type Records, type Refused, type RunRecord, stepOf, type Wish } from "./records";
import type { Notice } from "./types";

export interface Stamp {
  readonly opId: string;
  readonly at: string;
  readonly member?: string;
}

type Run = RunRecord["run"];

/**
 * Takes a wish into the queue. A newer answer takes the place of an older one of its step as long as nothing of that
 * was sent, and only where moving it there changes no other operation's effect.
 */
export function kept(before: Records, wish: Wish, stamp: Stamp, links: Links): Records {
  const stepId = stepOf(wish);
  if (wish.kind === "submit" || wish.kind === "cancel") return ending(before, wish, stamp, null);
  const open = stepId === null ? before : withdrawn(before);
  if (wish.kind === "photo_removed") return photoRemoved(open, wish, stamp, links);
  const cleared = withoutRefusals(open, wish.kind, stepId);
  const trimmed = wish.kind === "clear" || wish.kind === "skip" ? withoutUnsentPhotos(cleared, wish, links) : cleared;
  const older = replaceable(trimmed.queue, wish, links);
  if (older === null) return appended(trimmed, wish, stamp);
  const replacement: Operation = { ...wish, ...stamp, seq: older.seq, attempts: 0 };
  return { ...trimmed, queue: trimmed.queue.map((operation) => (operation === older ? replacement : operation)) };
}

/** Takes the end of the run into the queue; with `drawing`, the drawing of the signature before it. */
export function ending(
  before: Records,
  wish: Extract<Wish, { kind: "submit" | "cancel" }>,
  stamp: Stamp,
  drawing: Stamp | null,
): Records {
  // A second tap. What was sent already may have closed the run; it is only asked about again.
  if (before.queue.some((operation) => operation.kind === wish.kind && operation.attempts > 0)) return before;
  const open = withoutRefusals(withdrawn(before), wish.kind);
  return appended(drawing === null ? open : appended(open, { kind: "signature" }, drawing), wish, stamp);
}

/** Takes back the end of the run (submit with its drawing, or cancel) that waits and was never sent. */
export function withdrawn(before: Records): Records {
  const end = before.queue.find((operation) => operation.kind === "submit" || operation.kind === "cancel");
  if (end === undefined || end.attempts > 0) return before;
  const queue = before.queue.filter((operation) => operation !== end && operation.kind !== "signature");
  return { ...before, queue };
}

/** Notes that the operation may reach the server from now on. */
export function attempted(before: Records, opId: string): Records {
  const queue = before.queue.map((operation) => {
    if (operation.opId !== opId) return operation;
    const sent = { ...operation, attempts: operation.attempts + 1 };
    return sent.kind === "photo" && sent.attempts === 1 ? { ...sent, indexBefore: lastIndex(before, sent.stepId) } : sent;
  });
  return { ...before, queue };
}

/** The server has said that it did not take the operation, and would have if somebody else were signed in. */
export function notTaken(before: Records, opId: string): Records {
  const queue = before.queue.map((operation) =>
    operation.opId === opId ? { ...operation, attempts: Math.max(0, operation.attempts - 1) } : operation,
  );
  return { ...before, queue };
}

/** The server has applied the operation, now or at an earlier attempt. */
export function confirmed(before: Records, done: Operation, change: Change): Records {
  const queue = before.queue
    .filter((operation) => operation.opId !== done.opId)
    .flatMap((operation) => withIndexOf(operation, done, indexOfNew(before, done, change)));
  const record = before.run;
  if (record === null) return { ...before, queue };
  return { ...before, queue, run: { ...record, epoch: record.epoch + 1, run: runAfter(record.run, done, change) } };
}

/** The server will never take the operation. What was to be submitted after it is not what the person has seen. */
export function refused(before: Records, done: Operation, problems: readonly Problem[]): Records {
  // A photo that is not there any more is as good as removed.
  if (done.kind === "photo_removed") return { ...before, queue: without(before.queue, done) };
  const entry: Refused = { operation: done, problems };
  const stepId = stepOf(done);
  const rest = withdrawn({ ...before, queue: without(before.queue, done) });
  // Its photo never got an index, so there is nothing left to remove.
  const orphaned = (operation: Operation) =>
    operation.kind === "photo_removed" && operation.index === null && operation.photoKey === done.opId;
  const gone = done.kind === "photo" && rest.queue.some(orphaned);
  const after = { ...rest, queue: rest.queue.filter((operation) => !orphaned(operation)) };
  // A newer answer of the step is on its way already; the older one's refusal is of no more use.
  const outdated = after.queue.some((operation) => isAnswering(operation) && isAnswering(done) && stepOf(operation) === stepId);
  if (gone || outdated) return after;
  const others = after.refused.filter((other) => !sameSubject(other.operation, done));
  return withNotice({ ...after, refused: [...others, entry] }, "refused", stepId === null ? [] : [stepId]);
}

/**
 * The run is closed. Operations that were never sent cannot have arrived; one that was sent is asked about by sending
 * it again, so of those only `done` is given up.
 */
export function closedTo(before: Records, done: Operation | null): Records {
  const given = before.queue.filter((operation) => operation.opId === done?.opId || operation.attempts === 0);
  if (given.length === 0) return before;
  const queue = before.queue.filter((operation) => !given.includes(operation));
  const lost = [...before.lost, ...given.flatMap((operation) => lostBy(operation, before.run?.run ?? null))];
  const steps = lost.flatMap((entry) => (entry.stepId === null ? [] : [entry.stepId]));
  const told = withNotice({ ...before, queue, lost }, "closed_elsewhere", []);
  return lost.length === 0 ? told : withNotice(told, "not_arrived", steps);
}

/** The server asks who the person is, although the last known state had it. */
export function identityForgotten(before: Records): Records {
  const record = before.run;
  if (record === null || record.run.executor_identity.mode !== "external") return before;
  const run: Run = { ...record.run, executor_identity: { mode: "external", name: null, email: null } };
  return { ...before, run: { ...record, epoch: record.epoch + 1, run } };
}

/** The person has read it. */
export function dismissed(before: Records, noticeId: string): Records {
  const lost = noticeId === "not_arrived" ? [] : before.lost;
  return { ...before, lost, notices: before.notices.filter((notice) => notice.id !== noticeId) };
}

/** Takes a photo that the server refused off the screen. */
export function refusedPhotoRemoved(before: Records, opId: string): Records {
  const left = before.refused.filter((entry) => entry.operation.opId !== opId);
  return left.length === before.refused.length ? before : { ...before, refused: left, notices: pruned(before, left) };
}

function appended(before: Records, wish: Wish, stamp: Stamp): Records {
  const seq = Math.max(0, ...before.queue.map((operation) => operation.seq), ...before.lost.map((entry) => entry.seq)) + 1;
  return { ...before, queue: [...before.queue, { ...wish, ...stamp, seq, attempts: 0 }] };
}

function isAnswering(wish: Wish): boolean {
  return wish.kind === "answer" || wish.kind === "clear" || wish.kind === "skip";
}

/** The unsent operation that `wish` may take the place of. Clearing and skipping also take photos away, answering not. */
function replaceable(queue: readonly Operation[], wish: Wish, links: Links): Operation | null {
  const subject = (operation: Operation) =>
    wish.kind === "identity" ? operation.kind === "identity" : stepOf(wish) !== null && stepOf(operation) === stepOf(wish);
  const place = queue.findLastIndex(subject);
  const older = queue[place];
  if (older === undefined || older.attempts > 0) return null;
  if (wish.kind === "identity") return older;
  if (!isAnswering(wish) || !isAnswering(older)) return null;
  if (wish.kind === "answer" && older.kind !== "answer") return null;
  return canMove(queue, place, wish, links) ? older : null;
}

/** Whether `wish`, given now, would do the same at `place` in the queue. */
function canMove(queue: readonly Operation[], place: number, wish: Wish, links: Links): boolean {
  return queue.slice(place + 1).every((later) => later.kind === "identity" || !links.related(later, wish));
}

/** Photos of the step that were never sent need not be: the wish takes all of them away. */
function withoutUnsentPhotos(before: Records, wish: Wish, links: Links): Records {
  const stepId = stepOf(wish);
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
  wish: Extract<Wish, { kind: "photo_removed" }>,
  stamp: Stamp,
  links: Links,
): Records {
  const doubled = before.queue.some(
    (operation) => operation.kind === "photo_removed" && operation.stepId === wish.stepId &&
      (wish.index === null ? operation.photoKey === wish.photoKey : operation.index === wish.index),
  );
  if (doubled) return before;
  const place = before.queue.findIndex((operation) => operation.kind === "photo" && operation.opId === wish.photoKey);
  const photo = before.queue[place];
  if (photo === undefined) return wish.index === null ? before : appended(before, wish, stamp);
  const others = before.queue.filter((operation) => stepOf(operation) !== wish.stepId);
  const unsent = photo.attempts === 0 && others.every((other) => other.seq < photo.seq || !links.related(other, photo));
  if (unsent) return { ...before, queue: before.queue.filter((operation) => operation !== photo) };
  return appended(before, { ...wish, index: null }, stamp);
}

function without(queue: readonly Operation[], done: Operation): readonly Operation[] {
  return queue.filter((operation) => operation.opId !== done.opId);
}

/** The index that a photo has got: as the server says, else the one that its step did not have before. */
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

/** A removal that waited for its photo's index; without one, the photo was taken away already. */
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

function lostBy(operation: Operation, run: Run | null): Lost[] {
  const { seq, at, kind } = operation;
  if (kind === "submit" || kind === "cancel" || kind === "signature" || kind === "identity") return [];
  const value: JsonValue = operation.kind === "answer" ? operation.value : null;
  const same = run !== null && essenceOf(run.answers[operation.stepId]?.value) === essenceOf(value);
  return kind === "answer" && same ? [] : [{ seq, at, kind, value, stepId: operation.stepId }];
}

function sameSubject(one: Operation, other: Operation): boolean {
  if (one.kind === "photo" || other.kind === "photo") return one.opId === other.opId;
  return stepOf(one) === null ? one.kind === other.kind : stepOf(one) === stepOf(other);
}

/** A new wish settles the refusals of the same step or kind; with a changed step, those of the submit are outdated. */
function withoutRefusals(before: Records, kind: Wish["kind"], stepId: string | null = null): Records {
  const left = before.refused.filter(({ operation }) => {
    if (stepId === null) return operation.kind !== kind && !(kind === "submit" && operation.kind === "signature");
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

/** One notice of a kind, which names all steps that it is about. */
export function withNotice(before: Records, kind: Notice["kind"], stepIds: readonly string[]): Records {
  const known = before.notices.find((notice) => notice.kind === kind);
  const steps = [...new Set([...(known?.stepIds ?? []), ...stepIds])];
  const notice: Notice = { id: kind, kind, stepIds: steps };
  return { ...before, notices: [...before.notices.filter((other) => other !== known), notice] };
}
