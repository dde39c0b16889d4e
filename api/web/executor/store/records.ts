/**
 * The records of one run in IndexedDB, without blobs, token and template: plain values, so that every change is a pure
 * function (`transitions.ts`) inside one transaction (`database.ts`).
 */
import type { Geo, JsonValue, Problem, ServerRun } from "../../core/types";
import type { NotArrived, Notice } from "./types";

/** An action of the person. Photos and drawings are blobs, stored under the operation's `opId`. */
export type Command =
  | { readonly kind: "answer"; readonly stepId: string; readonly value: JsonValue; readonly geo: Geo | null; readonly note?: string }
  | { readonly kind: "clear"; readonly stepId: string }
  | { readonly kind: "skip"; readonly stepId: string }
  | { readonly kind: "photo"; readonly stepId: string; readonly contentType: string }
  /** `index` is null until the pending photo with the key `photoKey` has one. */
  | { readonly kind: "photo_removed"; readonly stepId: string; readonly photoKey: string; readonly index: number | null }
  | { readonly kind: "identity"; readonly name: string; readonly email: string }
  | { readonly kind: "signature" }
  | { readonly kind: "signature_removed" }
  | { readonly kind: "submit"; readonly signature: string | null }
  | { readonly kind: "cancel"; readonly reason: string | null };

/**
 * A queued command. `seq` is its position in the order of entry. `attempts` counts how often it may have reached the
 * server: from the first on it must be confirmed unchanged, because a late copy could still arrive.
 */
export type Operation = Command & {
  readonly seq: number;
  readonly opId: string;
  /** When the person acted, by the server's clock as far as known then, with the offset of the device. */
  readonly at: string;
  readonly attempts: number;
  /** In a run for members: the member who entered it. */
  readonly member?: string;
  /** For a photo that was sent: the highest index that its step had before. A higher one may be the photo itself. */
  readonly indexBefore?: number;
};

/** An operation that the server rejected. It stays on screen with the reason until it is resolved or dismissed. */
export interface Refused {
  readonly operation: Operation;
  readonly problems: readonly Problem[];
}

export interface Lost extends NotArrived {
  readonly seq: number;
}

/**
 * The last state from the server. `epoch` increases with each confirmed write: a state requested before that write is
 * outdated and is discarded.
 */
export interface RunRecord {
  readonly epoch: number;
  readonly run: Omit<ServerRun, "template">;
  /** Server clock minus device clock, in milliseconds. */
  readonly clockOffsetMs: number;
}

export interface Records {
  readonly queue: readonly Operation[];
  readonly refused: readonly Refused[];
  readonly lost: readonly Lost[];
  readonly notices: readonly Notice[];
  readonly run: RunRecord | null;
}

export const NO_RECORDS: Records = { queue: [], refused: [], lost: [], notices: [], run: null };

export function stepOf(command: Command): string | null {
  return "stepId" in command ? command.stepId : null;
}

/** Operations that can be batched: a rejection of one does not affect those after it. */
export type Batched = Extract<Operation, { readonly kind: "answer" | "clear" | "skip" }>;

export function isBatched(operation: Operation): operation is Batched {
  return operation.kind === "answer" || operation.kind === "clear" || operation.kind === "skip";
}

/** Whether the operation has a blob. */
export function hasBlob(command: Command): boolean {
  return command.kind === "photo" || command.kind === "signature";
}

/** Whether the operation is on the drawing of the completion signature. */
export function isOnDrawing(command: Command): boolean {
  return command.kind === "signature" || command.kind === "signature_removed";
}

/** Removal of the drawing of a signature step, whose index is not known. */
export const THE_DRAWING = -1;

/** A text that is equal for equal answers: the server adds URL and time to a signature, the person entered a name. */
export function answerKey(value: JsonValue | undefined): string {
  const isSignature = typeof value === "object" && value !== null && "name" in value;
  return JSON.stringify(isSignature ? { name: value.name } : (value ?? null));
}
