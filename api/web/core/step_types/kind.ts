/**
 * The definition of a step type. `StepKind` is what runs need; defaults suit an answer that is one JSON value.
 * `Authoring` is what the template editor needs; the executor app does not load it.
 */

import type { IconName } from "../../kit/controls/icon";
import type { Translate } from "../../kit/i18n";
import type { DraftStep } from "../authoring/draft";
import type { AnswerLike, Expected, ExpectedBounds, JsonValue, Operator, PhotoBounds, Problem, ProblemParams, Scalar, Step, StepConfig } from "../types";

/** The normal form of a value, or the reason for its rejection. */
export type Verdict =
  | { readonly value: JsonValue; readonly problem: null }
  | { readonly value: null; readonly problem: Problem };

/** Language-dependent formatting. */
export interface DisplayText {
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

/** How to format what is expected. */
export interface ExpectedFormat {
  readonly words: DisplayText;
  readonly t: Translate;
  readonly today: string;
}

export interface StepKind {
  /** The normal form that the service stores, or a problem with the service's code. */
  validate(step: Step, value: JsonValue): Verdict;
  /** Formats a value that is not null; null if it is no valid answer. */
  display?(step: Step, value: JsonValue, words: DisplayText): string | null;
  /** Whether conditions can compare the answer. */
  hasValue?(answer: AnswerLike): boolean;
  /** A sort key for the type's values; true and 1 are different. */
  sortKey?(value: unknown): Scalar | null;
  photoBounds?(step: Step): PhotoBounds | null;
  /**
   * Whether a valid value is within what is expected, for types whose answers can be flagged. A form without meaning for
   * the type expects nothing. `today`: the person's calendar date.
   */
  isExpected?(expected: Expected, value: JsonValue, today: string): boolean;
  /** Formats what is expected; empty if nothing is. */
  expectedText?(step: Step, expected: Expected, format: ExpectedFormat): string;
  /** The bounds of the answer, as hints. */
  hints?(step: Step, t: Translate): string[];
  /** Whether the control is a single field, and whether it is typed into. */
  readonly field?: "typed" | "set";
  /** Other input besides a value: an instruction takes nothing, a photo step photos, a signature a drawing. */
  readonly takes?: "nothing" | "photos" | "drawing";
  /** Whether an empty text is an answer. */
  readonly mayBeEmpty?: true;
}

/** A field of the config. Without a label it is kept with the type, but not offered. */
export type ConfigField =
  | { readonly kind: "text"; readonly name: TextName; readonly label?: string; readonly placeholder?: string; readonly limit?: number }
  | { readonly kind: "number"; readonly name: NumberName; readonly label: string; readonly none: string | ((step: DraftStep) => string); readonly min?: number; readonly max?: number; readonly whole?: boolean }
  | { readonly kind: "flag"; readonly name: "multiline"; readonly label: string; readonly hint: string }
  | { readonly kind: "options"; readonly name: "options" }
  /** What is expected, in the form of the type, and what is asked for otherwise. */
  | { readonly kind: "expected"; readonly name: "expected"; readonly form: "truth" | "options" | "range" | "grades" | "days" }
  | { readonly kind: "on_flag"; readonly name: "on_flag" };
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
  /** Operators for conditions on this type, the most common one first. */
  readonly operators: readonly Operator[];
  /** Labels of operators that differ from those of most types. */
  readonly operatorText?: Readonly<Partial<Record<Operator, string>>>;
  /** How the value of a comparison is entered. */
  readonly compared?: "truth" | "option" | "number" | "integer" | "date" | "time";
  /** Whether a value can be compared with; any text by default. */
  fits?(value: unknown, source: DraftStep): boolean;
  /** Formats the value of a comparison. */
  valueText?(value: unknown, source: DraftStep): string;
}

export const EQUALITY = ["eq", "ne"] as const;
export const ORDER = ["gt", "gte", "lt", "lte"] as const;
export const LISTS = ["in", "not_in"] as const;
export const CONTAINMENT = ["contains", "not_contains"] as const;

/** The fields of a type whose answers can be flagged. */
export function expecting(form: Extract<ConfigField, { kind: "expected" }>["form"]): readonly ConfigField[] {
  return [{ kind: "expected", name: "expected", form }, { kind: "on_flag", name: "on_flag" }];
}

/** The bounds, if something is expected in this form. */
export function boundsIn(expected: Expected): ExpectedBounds {
  return typeof expected === "object" && !Array.isArray(expected) ? (expected as ExpectedBounds) : {};
}

export function accepted(value: JsonValue): Verdict {
  return { value, problem: null };
}

export function refused(code: string, params: ProblemParams = {}, path = "value"): Verdict {
  return { value: null, problem: { path, code, params } };
}

export function wrongType(wanted: string, path = "value"): Verdict {
  return refused("wrong_type", { wanted }, path);
}
