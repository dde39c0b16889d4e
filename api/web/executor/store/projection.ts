/** What the views show: the server's state with the queue applied on top, and the rejected operations. */
import { type Answers, dateOf, evaluate, type Evaluation, isFlagged, takesDrawing } from "../../core";
import type { AnswerLike, ExecutorIdentity, JsonValue, Problem, ServerRun, Step, Template } from "../../core/types";
import { type Operation, type Records, stepOf, THE_DRAWING } from "./records";
import { isRefused } from "./refused_photos";
import type { LocalAnswer, LocalPhoto } from "./types";

/** Photos known in this tab only: their pictures and upload progress. */
export interface LocalPhotos {
  /** A blob: URL, or "" while the blob is being read. */
  readonly picture: (opId: string) => string;
  /** 0 to 1 during the upload, else null. */
  readonly upload: (opId: string) => number | null;
  /** The operation that uploaded the photo, if this tab sent it, so that key and picture stay the same. */
  readonly origin: (stepId: string, index: number) => string | null;
  /** Keys of the step's photos in the order in which this tab shows them; others follow. */
  readonly order: (stepId: string) => readonly string[];
}

export interface Projection extends Evaluation {
  readonly answers: ReadonlyMap<string, LocalAnswer>;
}

interface Draft {
  shown: Mutable<LocalAnswer>;
  /** What the server has or will have: without rejected answers. */
  counted: { value: AnswerLike["value"]; geo: unknown; flagged: boolean; note: string | null };
  exists: boolean;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NOTHING: LocalAnswer = { value: null, geo: null, photos: [], skipped: false, pending: false, problem: null, flagged: false, note: null };

const NO_ANSWER = { value: null, geo: null, flagged: false, note: null } as const;

/** Unchanged `previous` answers are returned as the same objects, so that only changed steps are rendered. */
export function project(
  records: Records,
  template: Template,
  desk: LocalPhotos,
  previous: ReadonlyMap<string, LocalAnswer>,
): Projection {
  const steps = new Map(template.sections.flatMap((section) => section.steps).map((step) => [step.id, step]));
  const drafts = new Map<string, Draft>();
  const draft = (stepId: string): Draft => {
    const known = drafts.get(stepId);
    if (known !== undefined) return known;
    const made: Draft = { shown: { ...NOTHING, photos: [] }, counted: { ...NO_ANSWER }, exists: false };
    drafts.set(stepId, made);
    return made;
  };

  const run = records.run?.run;
  for (const [stepId, answer] of Object.entries(run?.answers ?? {})) {
    const { shown, counted } = draft(stepId);
    const known = { value: answer.value, geo: answer.geo, flagged: answer.flagged ?? false, note: answer.note ?? null };
    Object.assign(shown, known);
    Object.assign(counted, known);
    const drawing = takesDrawing(steps.get(stepId)) ? sentDrawing(answer.value, stepId, desk) : [];
    shown.photos = [...drawing, ...answer.photos.map((photo) => sentPhoto(photo, stepId, desk))];
    draft(stepId).exists = true;
  }
  for (const stepId of run?.skipped_steps ?? []) draft(stepId).shown.skipped = true;
  for (const operation of records.queue) {
    const stepId = stepOf(operation);
    if (stepId !== null) apply(draft(stepId), operation, desk, steps.get(stepId));
  }
  for (const { operation, problems } of records.refused) {
    const stepId = stepOf(operation);
    if (stepId !== null) refuse(draft(stepId), operation, problems, desk);
  }

  const answers = new Map<string, LocalAnswer>();
  const decided = new Map<string, AnswerLike>();
  const skipped = new Set<string>();
  for (const [stepId, { shown, counted, exists }] of drafts) {
    const order = desk.order(stepId);
    if (order.length > 0) shown.photos = inOrder(shown.photos, order);
    const before = previous.get(stepId);
    answers.set(stepId, before !== undefined && same(before, shown) ? before : shown);
    if (shown.skipped) skipped.add(stepId);
    const arriving = shown.photos.filter((photo) => !isRefused(photo));
    if (exists) decided.set(stepId, { ...counted, photos: arriving });
  }
  return { answers, ...withProblems(evaluate(template, decided as Answers, skipped), answers, template) };
}

/** Reuses unchanged objects, so that their views are not rendered again. */
export function settledOn(before: Projection, now: Projection): Projection {
  const sameSteps = before.applicable.size === now.applicable.size && [...now.applicable].every((id) => before.applicable.has(id));
  return {
    answers: now.answers,
    applicable: sameSteps ? before.applicable : now.applicable,
    missing: before.missing.join() === now.missing.join() ? before.missing : now.missing,
    progress: JSON.stringify(before.progress) === JSON.stringify(now.progress) ? before.progress : now.progress,
  };
}

/** The identity, including a pending one. */
export function identityOf(records: Records, run: ServerRun): ExecutorIdentity {
  const given = records.queue.findLast((operation) => operation.kind === "identity");
  return given?.kind === "identity" ? { mode: "external", name: given.name, email: given.email } : run.executor_identity;
}

function inOrder(photos: readonly LocalPhoto[], keys: readonly string[]): LocalPhoto[] {
  const places = new Map(keys.map((key, place) => [key, place]));
  const placeOf = ({ key }: LocalPhoto) => places.get(key) ?? keys.length;
  return [...photos].sort((one, other) => placeOf(one) - placeOf(other));
}

function apply(draft: Draft, operation: Operation, desk: LocalPhotos, step: Step | undefined): void {
  const { shown } = draft;
  shown.pending = true;
  switch (operation.kind) {
    case "answer": {
      const { value, geo, note = null } = operation;
      draft.counted = { value, geo, note, flagged: step !== undefined && isFlagged(step, value, dateOf(operation.at)) };
      Object.assign(shown, draft.counted, { skipped: false });
      draft.exists = true;
      return;
    }
    case "clear":
    case "skip":
      Object.assign(shown, NO_ANSWER, { photos: [], skipped: operation.kind === "skip" });
      draft.counted = { ...NO_ANSWER };
      draft.exists = false;
      return;
    case "photo": {
      const photo = localPhoto(operation, desk);
      // The upload may have arrived without a response; then the server's photo is the same.
      const { indexBefore = Number.POSITIVE_INFINITY } = operation;
      const arrived = shown.photos.findIndex((other) => other.index !== null && other.index > indexBefore);
      if (takesDrawing(step)) shown.photos = [photo];
      else if (arrived >= 0) shown.photos = shown.photos.map((other, place) => (place === arrived ? photo : other));
      else shown.photos = [...shown.photos, photo];
      shown.skipped = false;
      draft.exists = true;
      return;
    }
    case "photo_removed": {
      const gone = (photo: LocalPhoto) =>
        operation.index === null ? photo.key === operation.photoKey : photo.index === operation.index;
      shown.photos = shown.photos.filter((photo) => !gone(photo));
      return;
    }
  }
}

function refuse(draft: Draft, operation: Operation, problems: readonly Problem[], desk: LocalPhotos): void {
  const problem = problems[0] ?? { path: "", code: "refused" };
  if (operation.kind === "photo") {
    const photo = localPhoto(operation, desk);
    draft.shown.photos = [...draft.shown.photos, { ...photo, state: "refused", error: problem.code, problem }];
    return;
  }
  draft.shown.problem = problem;
  if (operation.kind !== "answer") return;
  const { value, geo, note = null } = operation;
  Object.assign(draft.shown, { value, geo, note, flagged: false });
}

function localPhoto(operation: Operation, desk: LocalPhotos): LocalPhoto {
  const { opId } = operation;
  const [url, progress] = [desk.picture(opId), desk.upload(opId)];
  const state = progress === null ? "kept" : "uploading";
  return { key: opId, index: null, url, thumbnailUrl: url, served: null, state, progress: progress ?? 0, error: null, problem: null };
}

function sentPhoto(
  photo: { readonly photo_index: number; readonly url: string; readonly thumbnail_url?: string | null },
  stepId: string,
  desk: LocalPhotos,
): LocalPhoto {
  const origin = desk.origin(stepId, photo.photo_index);
  const picture = origin === null ? "" : desk.picture(origin);
  const served = { url: photo.url, thumbnailUrl: photo.thumbnail_url || photo.url };
  return {
    key: origin ?? `sent-${photo.photo_index}`,
    index: photo.photo_index,
    url: picture || served.url,
    thumbnailUrl: picture || served.thumbnailUrl,
    served,
    state: "sent",
    progress: 1,
    error: null,
    problem: null,
  };
}

/** The server reports a drawing only together with a name; until then this tab shows the one that it has sent. */
function sentDrawing(value: JsonValue, stepId: string, desk: LocalPhotos): LocalPhoto[] {
  const found = typeof value === "object" && value !== null && "url" in value ? value.url : null;
  const url = typeof found === "string" ? found : "";
  if (url === "" && desk.origin(stepId, THE_DRAWING) === null) return [];
  return [sentPhoto({ photo_index: THE_DRAWING, url }, stepId, desk)];
}

/** A step with a rejected answer is missing, even if the server has an earlier answer. */
function withProblems(found: Evaluation, answers: ReadonlyMap<string, LocalAnswer>, template: Template): Evaluation {
  const missing = new Set(found.missing);
  for (const [stepId, { problem, photos }] of answers) {
    const open = problem !== null || photos.some(isRefused);
    if (open && found.applicable.has(stepId)) missing.add(stepId);
  }
  if (missing.size === found.missing.length) return found;
  const order = template.sections.flatMap((section) => section.steps).map((step) => step.id);
  return { ...found, missing: order.filter((stepId) => missing.has(stepId)) };
}

function same(one: LocalAnswer, other: LocalAnswer): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
