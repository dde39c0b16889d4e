/**
 * What a step type says of itself. A `StepKind` is what runs need of it; what is left out suits an answer that is one
 * JSON value. An `Authoring` is what the editor of templates needs; the executor app does not carry it.
 */

import type { IconName } from "../../kit/controls/icon";
import type { Translate } from "../../kit/i18n";
import type { DraftStep } from "../authoring/draft";
import type { AnswerLike, JsonValue, Operator, PhotoBounds, Problem, ProblemParams, Scalar, Step, StepConfig } from "../types";

/** The normal form of a value, or why it is refused. */
export type Verdict =
  | { readonly value: JsonValue; readonly problem: null }
  | { readonly value: null; readonly problem: Problem };

/** What depends on the language. */
export interface DisplayWords {
  readonly yes: string;
  readonly no: string;
  readonly none: string;
  /** `decimals` null: as many as the number has. */
  readonly number: (value: number, decimals: number | null) => string;
  readonly rating: (value: number, max: number, label: string | null) => string;
  readonly list: (items: readonly string[]) => string;
  readonly date: (text: string) => string;
  readonly time: (text: string) => string;
  readonly moment: (text: string) => string;
  readonly signedBy: (name: string) => string;
}

export interface StepKind {
  /** The normal form that the service stores, or the problem that it would answer with, by the same code. */
  validate(step: Step, value: JsonValue): Verdict;
  /** A value that is not null as a person would read it; null for what is no answer to the step. */
  display?(step: Step, value: JsonValue, words: DisplayWords): string | null;
  /** Whether the answer says something that conditions can look at. */
  hasValue?(answer: AnswerLike): boolean;
  /** What sorts as the type's values do; true and 1 are not the same. */
  sortKey?(value: unknown): Scalar | null;
  photoBounds?(step: Step): PhotoBounds | null;
  /** The bounds of the answer, said before anybody breaks them. */
  hints?(step: Step, t: Translate): string[];
  /** Its control is one field, which is typed into key by key or not. */
  readonly field?: "typed" | "set";
  /** What it takes instead of a value: an instruction nothing, a photo step photos, a signature a drawing with it. */
  readonly takes?: "nothing" | "photos" | "drawing";
  /** A text that was emptied is an answer. */
  readonly mayBeEmpty?: true;
}

/** A field of the config. Without a label it is kept with the type, but not offered. */
export type ConfigField =
  | { readonly kind: "text"; readonly name: TextName; readonly label?: string; readonly placeholder?: string; readonly limit?: number }
  | { readonly kind: "number"; readonly name: NumberName; readonly label: string; readonly none: string | ((step: DraftStep) => string); readonly min?: number; readonly max?: number; readonly whole?: boolean }
  | { readonly kind: "flag"; readonly name: "multiline"; readonly label: string; readonly hint: string }
  | { readonly kind: "options"; readonly name: "options" };
type Names<Value> = keyof {
  [Name in keyof StepConfig as string extends Name ? never : Extract<StepConfig[Name], Value> extends never ? never : Name]: Value;
};
type TextName = Names<string>;
type NumberName = Names<number>;

export interface Authoring {
  readonly name: string;
  readonly meaning: string;
  readonly icon: IconName;
  readonly fields?: readonly ConfigField[];
  /** Those with which a condition may look at its answer, the usual one first. */
  readonly operators: readonly Operator[];
  /** Operators that read otherwise than with most types. */
  readonly operatorWords?: Readonly<Partial<Record<Operator, string>>>;
  /** How what its answer is compared with is entered. */
  readonly compared?: "truth" | "option" | "number" | "integer" | "date" | "time";
  /** Whether one value can be compared with; any text, if left out. */
  fits?(value: unknown, source: DraftStep): boolean;
  /** A value to begin with; an empty text, if left out. */
  first?(source: DraftStep): Scalar;
  /** What is compared with, in words. */
  valueWords?(value: unknown, source: DraftStep): string;
}

export const EQUALITY = ["eq", "ne"] as const;
export const ORDER = ["gt", "gte", "lt", "lte"] as const;
export const LISTS = ["in", "not_in"] as const;
export const CONTAINMENT = ["contains", "not_contains"] as const;

export function accepted(value: JsonValue): Verdict {
  return { value, problem: null };
}

export function refused(code: string, params: ProblemParams = {}, path = "value"): Verdict {
  return { value: null, problem: { path, code, params } };
}

export function wrongType(wanted: string, path = "value"): Verdict {
  return refused("wrong_type", { wanted }, path);
}
