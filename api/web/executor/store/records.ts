/**
 * What is kept in IndexedDB for one run, apart from blobs, token and template: plain values, so that every change of
 * them is a pure function (`transitions.ts`) inside one transaction (`database.ts`).
 */
import type { Geo, JsonValue, Problem, ServerRun } from "../../core/types";
import type { NotArrived, Notice } from "./types";

/** What the person wants done. Photos and drawings are blobs of their own, found by the operation's `opId`. */
export type Wish =
  | { readonly kind: "answer"; readonly stepId: string; readonly value: JsonValue; readonly geo: Geo | null }
  | { readonly kind: "clear"; readonly stepId: string }
  | { readonly kind: "skip"; readonly stepId: string }
  | { readonly kind: "photo"; readonly stepId: string; readonly contentType: string }
  /** `index` is null until the photo with the key `photoKey`, which was on its way, has got one. */
  | { readonly kind: "photo_removed"; readonly stepId: string; readonly photoKey: string; readonly index: number | null }
  | { readonly kind: "identity"; readonly name: string; readonly email: string }
  | { readonly kind: "signature" }
  | { readonly kind: "submit"; readonly signature: string | null }
  | { readonly kind: "cancel"; readonly reason: string | null };

/**
 * A wish on its way. `seq` is its place in the order of giving. `attempts` counts how often it may have reached the
 * server: from the first on it must be confirmed as it is, for a late copy of it could still arrive.
 */
export type Operation = Wish & {
  readonly seq: number;
  readonly opId: string;
  /** By this device's clock; for the eyes of the person only. */
  readonly at: string;
  readonly attempts: number;
  /** In a run for members: who gave it. */
  readonly member?: string;
  /** Of a photo that was sent: the highest index that its step had before. A higher one may be the photo itself. */
  readonly indexBefore?: number;
};

/** What the server did not take. It stays on screen with the reason until the person does something about it. */
export interface Refused {
  readonly operation: Operation;
  readonly problems: readonly Problem[];
}

export interface Lost extends NotArrived {
  readonly seq: number;
}

/**
 * The last state from the server. `epoch` grows with each write that was confirmed: a state that was read meanwhile is
 * older than that write and must not be put in its place.
 */
export interface RunRecord {
  readonly epoch: number;
  readonly run: Omit<ServerRun, "template">;
  /** Milliseconds that the server's clock is ahead of this device's. */
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

export function stepOf(wish: Wish): string | null {
  return "stepId" in wish ? wish.stepId : null;
}

/** What can be sent together with others: a refusal of it changes nothing about whether those after it are to be sent. */
export type Batched = Extract<Operation, { readonly kind: "answer" | "clear" | "skip" }>;

export function isBatched(operation: Operation): operation is Batched {
  return operation.kind === "answer" || operation.kind === "clear" || operation.kind === "skip";
}

/** Whether a blob belongs to the operation. */
export function hasBlob(wish: Wish): boolean {
  return wish.kind === "photo" || wish.kind === "signature";
}

/** Where a removal names no single photo: the drawing of a signature step, which has no index that the person knows of. */
export const THE_DRAWING = -1;

/** Text that is the same for the same answer: the server adds address and time to a signature, the person gave a name. */
export function essenceOf(value: JsonValue | undefined): string {
  const isSignature = typeof value === "object" && value !== null && "name" in value;
  return JSON.stringify(isSignature ? { name: value.name } : (value ?? null));
}
