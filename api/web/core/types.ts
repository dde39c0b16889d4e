/**
 * The shapes that the executor app speaks: the template (TDL), the run as `GET /v1/executor/runs/{run_id}` gives it,
 * and what the core says about them. Plain data, as it comes out of JSON; nothing here has methods.
 *
 * The service's shapes are those of its OpenAPI document (`rest.ts`), read-only throughout. The template is the
 * complete TDL that the service writes: defaults are filled in, `condition` and the fields of `config` are left out
 * where there is nothing to say.
 */

import type { components } from "./rest";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

type Schemas = components["schemas"];
/** Fields that came later: a run that an earlier version of the app kept on the device has them not. */
type Added = "signed_in_as" | "thumbnail_url" | "distance_m" | "signature_drawing" | "receipt";
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
/** Which fields mean something depends on the step's type; see `step_types/` for what holds where one is left out. */
export type StepConfig = ReadOnly<Schemas["StepConfig"]>;
export type Step = ReadOnly<Schemas["Step"]>;
export type Section = ReadOnly<Schemas["Section"]>;
export type Settings = ReadOnly<Schemas["Settings"]>;
export type Execution = ReadOnly<Schemas["Execution"]>;
export type Template = ReadOnly<Schemas["Definition"]>;
export type PromptPart = ReadOnly<Schemas["PromptPart"]>;
/** Where a step of a generated template came from. */
export type StepOrigin = ReadOnly<Schemas["StepOrigin"]>;
export type ExplainedTemplate = ReadOnly<Schemas["ExplainedTemplate"]>;

// --- the run

/** `GET /v1/executor/runs/{run_id}` */
export type ServerRun = ReadOnly<Schemas["ExecutorRun"]>;
export type RunStatus = ServerRun["status"];
export type ExecutorIdentity = ServerRun["executor_identity"];
/** Degrees (WGS 84) and metres; the accuracy is null when the device did not say. */
export type Geo = ReadOnly<Schemas["Geo"]>;
/** A photo that the service has. Its urls are signed anew at each read and expire within the hour. */
export type Photo = ReadOnly<Schemas["Photo"]>;
export type Answer = ReadOnly<Schemas["Answer"]>;
export type Signature = ReadOnly<Schemas["Signature"]>;
export type Progress = ReadOnly<Schemas["RunProgress"]>;
/** What the service has of a completed run. `digest` is `sha-256=` and the base64url of its canonical form. */
export type Receipt = ReadOnly<Schemas["Receipt"]>;
/** What every write answers. `answer` and `photo` are there where one was written; null when a later write took it away. */
export type Change = ReadOnly<Schemas["RunChange"] & Partial<Pick<Schemas["PhotoChange"], "answer" | "photo">>>;
/** `GET /v1/runs/{run_id}/preview`: all that can be known without the link's token. */
export type Preview = ReadOnly<Schemas["RunPreview"]>;

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
