/**
 * The shapes that the executor app speaks: the template (TDL), the run as `GET /v1/executor/runs/{run_id}` gives it,
 * and what the core says about them. Plain data, as it comes out of JSON; nothing here has methods.
 *
 * The template is the complete TDL that the service writes: defaults are filled in, `condition` and the fields of
 * `config` are left out where there is nothing to say. A `null` in either means the same as leaving it out.
 */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

// --- the template

export const STEP_TYPES = [
  "boolean",
  "photo",
  "number",
  "choice",
  "text",
  "rating",
  "multi_choice",
  "date",
  "time",
  "datetime",
  "signature",
  "scan",
  "instruction",
] as const;
export type StepType = (typeof STEP_TYPES)[number];

export type Operator =
  | "eq"
  | "ne"
  | "gt"
  | "gte"
  | "lt"
  | "lte"
  | "in"
  | "not_in"
  | "contains"
  | "not_contains"
  | "exists";

export type Scalar = string | number | boolean;

export interface Comparison {
  readonly step: string;
  readonly op: Operator;
  readonly value: Scalar | readonly Scalar[];
}

/** One comparison, or a group of parts of which all, or any, must hold. The service allows two levels of groups. */
export type When = Comparison | { readonly all: readonly When[] } | { readonly any: readonly When[] };

export interface Condition {
  readonly when: When;
}

export interface PhotoBounds {
  readonly min: number;
  readonly max: number;
}

export interface Option {
  readonly id: string;
  readonly label: string;
}

/** Which fields mean something depends on the step's type; see `bounds.ts` for what holds where one is left out. */
export interface StepConfig {
  readonly true_label?: string | null;
  readonly false_label?: string | null;
  readonly min?: number | null;
  readonly max?: number | null;
  readonly unit?: string | null;
  readonly decimal?: number | null;
  readonly options?: readonly Option[] | null;
  readonly min_selected?: number | null;
  readonly max_selected?: number | null;
  readonly multiline?: boolean | null;
  readonly placeholder?: string | null;
  readonly low_label?: string | null;
  readonly high_label?: string | null;
}

export interface Step {
  readonly id: string;
  readonly type: StepType;
  readonly label: string;
  readonly hint: string | null;
  readonly required: boolean;
  readonly photo: false | PhotoBounds;
  readonly geo: boolean;
  readonly geo_required: boolean;
  readonly condition?: Condition | null;
  readonly config: StepConfig;
}

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly Step[];
}

export interface Settings {
  readonly allow_skip: boolean;
  readonly signature_on_complete: boolean;
  readonly est_minutes: number | null;
}

export interface Execution {
  readonly scope: "any" | "member" | "external";
  readonly identity_required: "none" | "external" | "member";
}

export interface Template {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly settings: Settings;
  readonly sections: readonly Section[];
  readonly execution: Execution;
}

// --- the run

export type RunStatus = "pending" | "in_progress" | "completed" | "cancelled" | "expired";

/** Degrees (WGS 84) and metres; the accuracy is null when the device did not say. */
export interface Geo {
  readonly lat: number;
  readonly lng: number;
  readonly accuracy_m: number | null;
}

/** A photo that the service has. Its urls are signed anew at each read and expire within the hour. */
export interface Photo {
  readonly photo_index: number;
  readonly url: string;
  readonly thumbnail_url?: string | null;
  readonly content_type: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly width: number;
  readonly height: number;
  readonly captured_at: string | null;
  /** Metres between where the photo was taken and where the step was answered, when both are known. */
  readonly distance_m?: number | null;
}

export interface Answer {
  readonly value: JsonValue;
  readonly photos: readonly Photo[];
  readonly geo: Geo | null;
  readonly at: string;
  readonly by: string | null;
}

export interface Signature {
  readonly url: string | null;
  readonly name: string;
  readonly signed_at: string;
}

export type ExecutorIdentity =
  | { readonly mode: "anonymous" }
  | { readonly mode: "external"; readonly name: string | null; readonly email: string | null }
  | { readonly mode: "member"; readonly user_id: string | null };

export interface Progress {
  readonly total: number;
  readonly answered: number;
  readonly skipped: number;
}

/** What the service has of a completed run. `digest` is `sha-256=` and the base64url of its canonical form. */
export interface Receipt {
  readonly run_id: string;
  readonly completed_at: string;
  readonly answers: number;
  readonly photos: number;
  readonly digest: string;
}

/** `GET /v1/executor/runs/{run_id}` */
export interface ServerRun {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly template_id: string;
  readonly template_v: number;
  readonly template: Template;
  readonly created_by_name: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly cancelled_at: string | null;
  readonly cancel_reason: string | null;
  readonly expires_at: string | null;
  readonly assigned_to: string | null;
  readonly executor_identity: ExecutorIdentity;
  readonly answers: Readonly<Record<string, Answer>>;
  readonly signature: Signature | null;
  readonly progress: Progress;
  readonly applicable_steps: readonly string[];
  readonly skipped_steps: readonly string[];
  readonly missing_steps: readonly string[];
  readonly receipt?: Receipt | null;
}

/** What every write answers. `answer` is there when an answer was written; null when a later write took it away. */
export interface Change {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly progress: Progress;
  readonly applicable_steps: readonly string[];
  readonly skipped_steps: readonly string[];
  readonly replayed: boolean;
  readonly answer?: Answer | null;
  readonly photo?: Photo | null;
  readonly receipt?: Receipt | null;
}

/** `GET /v1/runs/{run_id}/preview`: all that can be known without the link's token. */
export interface Preview {
  readonly run_id: string;
  readonly status: RunStatus;
  readonly template_name: string;
  readonly step_count: number;
  readonly created_by_name: string;
  readonly expires_at: string | null;
}

// --- what the core looks at, and what it says

/** The part of an answer that decides: `Answer` fits, and so does an answer that has not reached the service yet. */
export interface AnswerLike {
  readonly value: JsonValue;
  readonly photos: { readonly length: number };
  readonly geo: unknown;
}

export type ProblemParams = Readonly<Record<string, string | number>>;

/**
 * One thing that is wrong: where, and what kind. The codes are the service's. `message` is the service's own (English)
 * text and comes with its refusals; `params` come from the core and fill the text of the person's language.
 */
export interface Problem {
  readonly path: string;
  readonly code: string;
  readonly message?: string;
  readonly params?: ProblemParams;
}

/** The body of every refusal of the service. `details` of a 402 is an object; executors never see one. */
export interface ErrorBody {
  readonly error: string;
  readonly message: string;
  readonly details?: readonly Problem[];
  readonly request_id?: string;
}
