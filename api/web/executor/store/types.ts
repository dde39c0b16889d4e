/**
 * The interface of the store: signals to read, actions to call. Everything shown as stored is in IndexedDB before it is
 * in a signal; everything from the server is in `run`.
 */
import type { ReadonlySignal } from "@preact/signals";

import type { Geo, JsonValue, Preview, Problem, Progress, ServerRun } from "../../core/types";
import type { ReceiptReply } from "./receipt_file";

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
 * The view to show. `offline_first`: the link is opened for the first time without network, so there is nothing to
 * show. `unreachable`: there is a network, but the service does not respond, and nothing is cached.
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
  /** A run for members: not signed in, not a member, or assigned to another member. */
  | "sign_in"
  | "not_member"
  | "assigned";

/**
 * For a run for members; all other runs are always `open`. `sign_in`: no session, or it has ended. `others`: the run is
 * the person's, but unsent answers of another member are on this device.
 */
export type Access = "open" | "sign_in" | "not_member" | "assigned" | "others";

/** The organization and template that require a sign-in. */
export interface Asking {
  readonly organization: string;
  readonly templateName: string;
  readonly sender: string;
}

export interface Membership {
  readonly access: Access;
  readonly asking: Asking | null;
  /** The signed-in person who may not answer. */
  readonly email: string | null;
}

/** `waiting` is the number of operations that are not confirmed by the server. */
export interface SyncState {
  state: "saved" | "saving" | "offline" | "attention" | "signed_out";
  waiting: number;
}

export interface LocalPhoto {
  /** Stays the same while the photo is stored, uploaded and sent. */
  key: string;
  /** -1: the drawing of a signature step. */
  index: number | null;
  /** A blob: URL while the photo is only on the device, else the server's signed one. */
  url: string;
  thumbnailUrl: string;
  /** The server's signed URLs once it has the photo: for a browser that cannot display what it has sent (HEIC). */
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
  /** Outside what its step expects. */
  flagged: boolean;
  note: string | null;
  /** Stored on the device, not confirmed by the server. */
  pending: boolean;
  /** The server's rejection of the newest answer, until the step is answered again. */
  problem: Problem | null;
}

export type NoticeKind =
  | "other_device"
  | "storage_full"
  /** The browser stores nothing for this page. */
  | "not_keeping"
  | "closed_elsewhere"
  | "not_arrived"
  | "update_ready"
  /** The session of a run for members has ended. */
  | "signed_out"
  | "refused";

/** A message to the person. `details` is the server's text, if any. */
export interface Notice {
  id: string;
  kind: NoticeKind;
  stepIds: string[];
  details?: string;
  /** For `other_device`: the values that this device showed before. */
  replaced?: readonly Replaced[];
}

export interface Replaced {
  stepId: string;
  value: JsonValue;
}

/** An answer on this device that the server no longer accepts, because the run was closed elsewhere. */
export interface NotArrived {
  stepId: string | null;
  kind: "answer" | "clear" | "skip" | "photo" | "photo_removed" | "identity" | "signature" | "signature_removed" | "submit" | "cancel";
  value: JsonValue;
  /** When it was entered, by the server's clock as far as known then. */
  at: string;
}

/** The device has no room: the change is not stored. */
export class StorageFull extends Error {
  override readonly name = "StorageFull";
}

export interface RunStore {
  readonly phase: ReadonlySignal<Phase>;
  /** Whether answers are stored on the device; if not, unsent ones exist in this tab only. */
  readonly keeps: ReadonlySignal<boolean>;
  readonly preview: ReadonlySignal<Preview | null>;
  /** The last state from the server, or the cached one. */
  readonly run: ReadonlySignal<ServerRun | null>;
  /** Server state with the queue applied on top; only steps with an answer, photo, skip or problem. */
  readonly answers: ReadonlySignal<ReadonlyMap<string, LocalAnswer>>;
  readonly applicable: ReadonlySignal<ReadonlySet<string>>;
  readonly missing: ReadonlySignal<readonly string[]>;
  readonly progress: ReadonlySignal<Progress>;
  readonly sync: ReadonlySignal<SyncState>;
  readonly notices: ReadonlySignal<readonly Notice[]>;
  readonly notArrived: ReadonlySignal<readonly NotArrived[]>;
  readonly submitQueued: ReadonlySignal<boolean>;
  readonly cancelQueued: ReadonlySignal<boolean>;
  /** The blob: URL of the drawing of the completion signature, if any. */
  readonly signatureDrawing: ReadonlySignal<string | null>;
  /** Problems of the last rejected submit, cancel or identity (paths `name`, `email`, `signature`, step ids). */
  readonly refusals: ReadonlySignal<readonly Problem[]>;

  readonly membership: ReadonlySignal<Membership>;

  /** The estimated server time, for expiry. */
  now(): Date;

  /**
   * Resolves when the answer is stored in IndexedDB (in memory if `keeps` is false); rejects with StorageFull, and then
   * nothing has changed.
   */
  answer(stepId: string, value: JsonValue, geo?: Geo | null, note?: string | null): Promise<void>;
  clear(stepId: string): Promise<void>;
  skip(stepId: string): Promise<void>;
  /** Replaces the photos with the keys `instead`: all is stored, or nothing has changed. */
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
  /** Withdraws a queued submit or cancel that was not sent yet; resolves to whether it was withdrawn. */
  withdraw(): Promise<boolean>;
  /** Activates the waiting version of the app and reloads (after the notice `update_ready`). */
  applyUpdate(): void;
  /** Fetches the receipt of the completed run as a PDF, in the language of the locale. */
  receipt(locale: string): Promise<ReceiptReply>;
  /** Opens the sign-in page, which returns to the run; unsent answers stay stored. */
  signIn(asOther: boolean): Promise<void>;
  /** Stops listening and sending, e.g. after a test. */
  close(): void;
}
