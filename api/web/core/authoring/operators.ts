/** What a condition may ask of a step, by the step's type (contract section 3), and how that is said. */
import type { Operator, StepType } from "../types";

const EQUALITY = ["eq", "ne"] as const;
const ORDER = ["gt", "gte", "lt", "lte"] as const;
const LISTS = ["in", "not_in"] as const;
const CONTAINMENT = ["contains", "not_contains"] as const;

export const OPERATORS: Readonly<Record<StepType, readonly Operator[]>> = {
  boolean: [...EQUALITY, "exists"],
  number: [...EQUALITY, ...ORDER, ...LISTS, "exists"],
  rating: [...EQUALITY, ...ORDER, ...LISTS, "exists"],
  choice: [...EQUALITY, ...LISTS, "exists"],
  multi_choice: [...CONTAINMENT, "exists"],
  text: [...EQUALITY, ...CONTAINMENT, "exists"],
  scan: [...EQUALITY, ...CONTAINMENT, "exists"],
  date: [...EQUALITY, ...ORDER, "exists"],
  time: [...EQUALITY, ...ORDER, "exists"],
  datetime: [...EQUALITY, ...ORDER, "exists"],
  photo: ["exists"],
  signature: ["exists"],
  instruction: [],
};

export const TYPE_NAMES: Readonly<Record<StepType, string>> = {
  boolean: "Yes or no",
  number: "Number",
  choice: "Choice of one",
  multi_choice: "Choice of several",
  text: "Text",
  rating: "Rating",
  photo: "Photo",
  date: "Date",
  time: "Time",
  datetime: "Date and time",
  signature: "Signature",
  scan: "Scan",
  instruction: "Instruction",
};

const WORDS: Readonly<Record<Operator, string>> = {
  eq: "is",
  ne: "is not",
  gt: "is more than",
  gte: "is at least",
  lt: "is less than",
  lte: "is at most",
  in: "is one of",
  not_in: "is none of",
  contains: "contains",
  not_contains: "does not contain",
  exists: "is answered",
};
const WORDS_OF_MOMENTS: Readonly<Partial<Record<Operator, string>>> = { gt: "is after", gte: "is not before", lt: "is before", lte: "is not after" };
const WORDS_OF_SELECTIONS: Readonly<Partial<Record<Operator, string>>> = { contains: "includes", not_contains: "does not include" };

export function operatorWords(op: Operator, type: StepType): string {
  if (type === "date" || type === "time" || type === "datetime") return WORDS_OF_MOMENTS[op] ?? WORDS[op];
  return (type === "multi_choice" ? WORDS_OF_SELECTIONS[op] : undefined) ?? WORDS[op];
}
