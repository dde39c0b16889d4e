/**
 * What the views know of a run: signals to read, actions to call. Everything the person sees as kept is in IndexedDB
 * before it is in a signal; everything the server has said is in `run`.
 */
import type { ReadonlySignal } from "@preact/signals";

import type { Geo, JsonValue, Preview, Problem, Progress, ServerRun } from "../../core/types";

export type {
  Answer,
  Change,
  ErrorBody,
  ExecutorIdentity,
  Geo,
  JsonValue,
  Photo,
  Preview,
  Problem,
  Progress,
  Receipt,
  RunStatus,
  ServerRun,
  Signature,
  Step,
  Template,
} from "../../core/types";

/**
 * What is on screen. `offline_first`: the link is opened for the first time and there is no network, so there is nothing
 * to show yet. `unreachable`: there is a network, but the service does not answer, and nothing is cached.
 */
export type Phase =
  | "loading"
  | "preview"
  | "identity"
  | "checklist"
  | "review"
  | "done"
  | "cancelled"
  | "expired"
  | "not_found"
  | "offline_first"
  | "unreachable"
  /** A run for members: nobody is signed in; or somebody who is no member, or to whom it is not assigned. */
  | "sign_in"
  | "not_member"
  | "assigned";

/**
 * Of a run for members. `open` also for all other runs. `sign_in`: there is no session, or it has ended. `others`: the run
 * is the person's, but answers that somebody else gave wait on this device.
 */
export type Door = "open" | "sign_in" | "not_member" | "assigned" | "others";

/** Who asks for a member. */
export interface Asking {
  readonly organization: string;
  readonly templateName: string;
  readonly sender: string;
}

export interface Membership {
  readonly door: Door;
  readonly asking: Asking | null;
  /** Of who is signed in and cannot answer. */
  readonly email: string | null;
}

/** `waiting` counts what is kept here and not yet confirmed by the server. */
export interface SyncState {
  state: "saved" | "saving" | "offline" | "attention" | "signed_out";
  waiting: number;
}

export interface LocalPhoto {
  /** Stays the same while the photo is kept, uploaded and sent. */
  key: string;
  /** -1: the drawing of a signature step. */
  index: number | null;
  /** A blob: address while it is only here, else the server's signed one. */
  url: string;
  thumbnailUrl: string;
  /** The server's signed addresses, once it has the photo: for a browser that cannot draw what it has sent (HEIC). */
  served: { url: string; thumbnailUrl: string } | null;
  state: "kept" | "uploading" | "sent" | "refused";
  /** 0 to 1. */
  progress: number;
  /** The code of `problem`. */
  error: string | null;
  problem: Problem | null;
}

export interface LocalAnswer {
  value: JsonValue;
  geo: Geo | null;
  photos: LocalPhoto[];
  skipped: boolean;
  /** Kept here, not yet confirmed by the server. */
  pending: boolean;
  /** The server's refusal of the newest answer, until the step is answered anew. */
  problem: Problem | null;
}

export type NoticeKind =
  | "other_device"
  | "storage_full"
  /** The browser keeps nothing for this page. */
  | "not_keeping"
  | "closed_elsewhere"
  | "not_arrived"
  | "update_ready"
  /** The session of a run for members has ended. */
  | "signed_out"
  | "refused";

/** Something to be told. `details` is the server's own text where there is one. */
export interface Notice {
  id: string;
  kind: NoticeKind;
  stepIds: string[];
  details?: string;
}

/** An answer that was kept here when the run was closed elsewhere, and that the server will not take any more. */
export interface NotArrived {
  stepId: string | null;
  kind: "answer" | "clear" | "skip" | "photo" | "photo_removed" | "identity" | "signature" | "submit" | "cancel";
  value: JsonValue;
  /** When it was given, by this device's clock. */
  at: string;
}

/** The device has no room: what was to be kept is not kept. */
export class StorageFull extends Error {
  override readonly name = "StorageFull";
}

export interface RunStore {
  readonly phase: ReadonlySignal<Phase>;
  /** Whether the device keeps what is answered; if not, it is in this tab only until the service has it. */
  readonly keeps: ReadonlySignal<boolean>;
  readonly preview: ReadonlySignal<Preview | null>;
  /** The last state from the server, or the cached one. */
  readonly run: ReadonlySignal<ServerRun | null>;
  /** Server state with the queue applied on top; steps without answer, photo, skip or problem are not in it. */
  readonly answers: ReadonlySignal<ReadonlyMap<string, LocalAnswer>>;
  readonly applicable: ReadonlySignal<ReadonlySet<string>>;
  readonly missing: ReadonlySignal<readonly string[]>;
  readonly progress: ReadonlySignal<Progress>;
  readonly sync: ReadonlySignal<SyncState>;
  readonly notices: ReadonlySignal<readonly Notice[]>;
  readonly notArrived: ReadonlySignal<readonly NotArrived[]>;
  readonly submitQueued: ReadonlySignal<boolean>;
  readonly cancelQueued: ReadonlySignal<boolean>;
  /** A blob: address of the drawing of the completion signature, if one is kept. */
  readonly signatureDrawing: ReadonlySignal<string | null>;
  /** Problems of the last refused submit, cancel or identity (paths `name`, `email`, `signature`, step ids). */
  readonly refusals: ReadonlySignal<readonly Problem[]>;

  readonly membership: ReadonlySignal<Membership>;

  /** The server's time, as well as it can be known from here: expiry is counted down by it. */
  now(): Date;

  /** Resolves when it is kept in IndexedDB; rejects with StorageFull, and then nothing has changed. Where `keeps` is false, when it is in memory. */
  answer(stepId: string, value: JsonValue, geo?: Geo | null): Promise<void>;
  clear(stepId: string): Promise<void>;
  skip(stepId: string): Promise<void>;
  /** In place of the photos with the keys `instead`: all of it is kept, or nothing has changed. */
  addPhoto(stepId: string, file: Blob, instead?: readonly string[]): Promise<void>;
  removePhoto(stepId: string, key: string): Promise<void>;
  identify(name: string, email: string): Promise<void>;
  drawSignature(drawing: Blob | null): Promise<void>;
  submit(signature: { name: string } | null): Promise<void>;
  cancel(reason: string | null): Promise<void>;
  /** Sends, or loads, again at once. */
  retry(): void;
  dismiss(noticeId: string): void;
  /** Opens or closes the review before submit. */
  review(open: boolean): void;
  /** Takes a queued submit or cancel back, if it has not been sent yet; resolves to whether it could. */
  withdraw(): Promise<boolean>;
  /** Puts the waiting version of the app in place and reloads (after the notice `update_ready`). */
  applyUpdate(): void;
  /** Leaves for the sign-in page, which leads back; everything that was answered waits here. */
  signIn(asSomebodyElse: boolean): Promise<void>;
  /** Ends listening and sending, e.g. when a test is over. */
  close(): void;
}
