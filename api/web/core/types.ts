/**
 * Data types of the executor app: the template (TDL), the run as returned by `GET /v1/executor/runs/{run_id}`, and the
 * results of the core. Plain JSON data without methods.
 *
 * The types come from the OpenAPI document (`rest.ts`), read-only throughout. The template is the complete TDL that the
 * service writes: defaults are filled in; `condition` and the fields of `config` are omitted if empty.
 */

import type { components } from "./rest";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

type Schemas = components["schemas"];
/** Newer fields: a run that an earlier version of the app stored on the device lacks them. */
type Added = "changes" | "received_at" | "signed_in_as" | "flagged" | "note" | "thumbnail_url" | "distance_m" | "signature_drawing" | "receipt" | "layout";
type ReadOnly<Shape> = unknown extends Shape
  ? JsonValue
  : Shape extends readonly (infer Item)[]
    ? readonly ReadOnly<Item>[]
    : Shape extends object
      ? { readonly [Name in keyof Shape as Exclude<Name, Added>]: ReadOnly<Shape[Name]> } & {
          readonly [Name in keyof Shape as Extract<Name, Added>]?: ReadOnly<Shape[Name]> | null;
        }
      : Shape;

// --- the template

export type StepType = Schemas["StepType"];
export type Operator = Schemas["Operator"];
export type Scalar = string | number | boolean;
export type Comparison = ReadOnly<Schemas["Comparison"]>;
/** Exactly one of: a comparison (`step`, `op`, `value`), `all`, or `any`; groups nest two levels deep. */
export type When = ReadOnly<Schemas["When"] | Schemas["Clause"] | Schemas["Comparison"]>;
export type Condition = ReadOnly<Schemas["Condition"]>;
export type PhotoBounds = ReadOnly<Schemas["PhotoBounds"]>;
export type Option = ReadOnly<Schemas["Option"]>;
/** Which fields apply depends on the step's type; see `step_types/` for the defaults. */
export type StepConfig = ReadOnly<Schemas["StepConfig"]>;
/** What is expected; which form means something depends on the step's type. An answer outside is flagged. */
export type Expected = NonNullable<StepConfig["expected"]>;
export type ExpectedBounds = ReadOnly<Schemas["ExpectedBounds"]>;
/** What a flagged answer must have before the submit. */
export type OnFlag = ReadOnly<Schemas["OnFlag"]>;
export type Step = ReadOnly<Schemas["Step"]>;
export type Section = ReadOnly<Schemas["Section"]>;
export type Settings = ReadOnly<Schemas["Settings"]>;
export type Execution = ReadOnly<Schemas["Execution"]>;
export type Template = ReadOnly<Schemas["Definition"]>;
export type PromptPart = ReadOnly<Schemas["PromptPart"]>;
/** The part of the prompt that a generated step came from. */
export type StepOrigin = ReadOnly<Schemas["StepOrigin"]>;
export type ExplainedTemplate = ReadOnly<Schemas["ExplainedTemplate"]>;

// --- the run

/** `GET /v1/executor/runs/{run_id}` */
export type ServerRun = ReadOnly<Schemas["ExecutorRun"]>;
export type RunStatus = ServerRun["status"];
export type ExecutorIdentity = ServerRun["executor_identity"];
/** Degrees (WGS 84) and metres; the accuracy is null if the device did not report it. */
export type Geo = ReadOnly<Schemas["Geo"]>;
/** A photo that the service stores. Its URLs are signed again at each read and expire within the hour. */
export type Photo = ReadOnly<Schemas["Photo"]>;
export type Answer = ReadOnly<Schemas["Answer"]>;
export type Signature = ReadOnly<Schemas["Signature"]>;
export type Progress = ReadOnly<Schemas["RunProgress"]>;
/** The service's receipt for a completed run. `digest` is `sha-256=` and the base64url of its canonical form. */
export type Receipt = ReadOnly<Schemas["Receipt"]>;
/**
 * The response to every write. `answer` and `photo` are present if one was written; null if a later write removed it.
 */
export type Change = ReadOnly<Schemas["RunChange"] & Partial<Pick<Schemas["PhotoChange"], "answer" | "photo">>>;
/** `GET /v1/runs/{run_id}/preview`: everything that is public without the link's token. */
export type Preview = ReadOnly<Schemas["RunPreview"]>;

// --- input and results of the core

/** The part of an answer that conditions use: an `Answer`, or an answer that is not sent yet. */
export interface AnswerLike {
  readonly value: JsonValue;
  readonly photos: { readonly length: number };
  readonly geo: unknown;
  /** Outside what its step expects. */
  readonly flagged?: boolean | null;
  readonly note?: string | null;
}

export type ProblemParams = Readonly<Record<string, string | number>>;

/**
 * A validation problem: path and code of the service. `message` is the service's English text and comes with its
 * errors; `params` come from the core and fill the translated text.
 */
export interface Problem {
  readonly path: string;
  readonly code: string;
  readonly message?: string;
  readonly params?: ProblemParams;
}

/** The body of every error response. `details` of a 402 is an object; executors never get one. */
export interface ErrorBody {
  readonly error: string;
  readonly message: string;
  readonly details?: readonly Problem[];
  readonly request_id?: string;
}
