/**
 * Conditions in the editor: groups of comparisons, invalid references, and the condition as a sentence (contract
 * section 3).
 */
import { AUTHORING } from "../step_types";
import type { Comparison, Operator, StepType, When } from "../types";
import { allSteps, type Draft, type DraftStep } from "./draft";

export type Join = "all" | "any";
export interface Group {
  readonly join: Join;
  readonly parts: readonly Part[];
}
export type Part = Comparison | Group;

export function isGroup(part: Part): part is Group {
  return "join" in part;
}

/** A single comparison becomes a group of one. */
export function readWhen(when: When): Group {
  const part = readPart(when);
  return isGroup(part) ? part : { join: "all", parts: [part] };
}

function readPart(when: When): Part {
  if ("all" in when && when.all) return { join: "all", parts: when.all.map(readPart) };
  if ("any" in when && when.any) return { join: "any", parts: when.any.map(readPart) };
  return when as Comparison;
}

/** The simplest form of the condition; nested groups stay. null if no comparison is left. */
export function writeWhen(group: Group): When | null {
  const parts = group.parts.filter((part) => !isGroup(part) || part.parts.length > 0);
  const [only] = parts;
  if (only === undefined) return null;
  if (parts.length === 1) return isGroup(only) ? writeWhen(only) : only;
  return { [group.join]: parts.map(writePart) } as unknown as When;
}

function writePart(part: Part): When {
  return isGroup(part) ? ({ [part.join]: part.parts.map(writePart) } as unknown as When) : part;
}

export function comparisonsOf(when: When): Comparison[] {
  const each = (part: Part): Comparison[] => (isGroup(part) ? part.parts.flatMap(each) : [part]);
  return each(readWhen(when));
}

export function renamedIn(when: When, from: string, to: string): When {
  return comparisonsOf(when).some((one) => one.step === from) ? mapComparisons(when, (one) => (one.step === from ? { ...one, step: to } : one)) : when;
}

export function mapComparisons(when: When, change: (one: Comparison) => Comparison): When {
  const given = when as { all?: readonly When[]; any?: readonly When[] };
  if (given.all) return { ...when, all: given.all.map((part) => mapComparisons(part, change)) } as When;
  if (given.any) return { ...when, any: given.any.map((part) => mapComparisons(part, change)) } as When;
  return change(when as Comparison);
}

/** Removes all comparisons with `stepId`; null if nothing is left. */
export function withoutSource(when: When, stepId: string): When | null {
  const prune = (part: Part): Part | null => {
    if (!isGroup(part)) return part.step === stepId ? null : part;
    const parts = part.parts.map(prune).filter((one) => one !== null);
    return parts.length === 0 ? null : { ...part, parts };
  };
  const left = prune(readWhen(when));
  return left === null || !isGroup(left) ? left : writeWhen(left);
}

export interface Broken {
  /** The step with the condition. */
  readonly step: DraftStep;
  readonly sourceId: string;
  /** null if the step no longer exists. */
  readonly source: DraftStep | null;
  readonly why: "gone" | "self" | "later" | "operator" | "value";
}

/** Finished conditions that the service would reject, one per step and source. */
export function brokenConditions(draft: Draft): Broken[] {
  const order = allSteps(draft);
  const byId = new Map(order.map((step, index) => [step.id, { step, index }]));
  return order.flatMap((step, index) => {
    if (!step.condition) return [];
    const seen = new Set<string>();
    return comparisonsOf(step.condition.when).flatMap((comparison): Broken[] => {
      if (isUnfinished(comparison)) return [];
      const source = byId.get(comparison.step);
      const why = !source ? "gone" : source.index === index ? "self" : source.index > index ? "later" : mismatch(comparison, source.step);
      if (why === null || seen.has(comparison.step)) return [];
      seen.add(comparison.step);
      return [{ step, sourceId: comparison.step, source: source?.step ?? null, why }];
    });
  });
}

function mismatch({ op, value }: Comparison, source: DraftStep): "operator" | "value" | null {
  if (!AUTHORING[source.type].operators.includes(op)) return "operator";
  return valueFits(op, value, source) ? null : "value";
}

export function valueFits(op: Operator, value: unknown, source: DraftStep): boolean {
  if (op === "exists") return typeof value === "boolean";
  if (op === "in" || op === "not_in") return Array.isArray(value) && value.length > 0 && value.every((item) => scalarFits(item, source));
  return scalarFits(value, source);
}

function scalarFits(value: unknown, source: DraftStep): boolean {
  return AUTHORING[source.type].fits?.(value, source) ?? typeof value === "string";
}

/** Steps that the condition of `stepId` can refer to: earlier ones that take an answer. */
export function sourcesFor(draft: Draft, stepId: string): DraftStep[] {
  const order = allSteps(draft);
  return order.slice(0, Math.max(0, order.findIndex((step) => step.id === stepId))).filter((step) => AUTHORING[step.type].operators.length > 0);
}

/** The value that the author has yet to choose. */
const UNSET = null as unknown as Comparison["value"];

/**
 * A comparison that the author finishes: with the nearest step that has a value to choose, else without a step. It is
 * in the draft, but is never sent.
 */
export function newComparison(sources: readonly DraftStep[]): Comparison {
  const op = (source: DraftStep) => AUTHORING[source.type].operators[0] ?? "exists";
  const source = sources.findLast((one) => op(one) !== "exists");
  return source === undefined ? { step: "", op: "exists", value: UNSET } : { step: source.id, op: op(source), value: UNSET };
}

export function isUnfinished({ step, value }: Comparison): boolean {
  return step === "" || value === UNSET;
}

/** Whether the author has yet to finish the step's condition. */
export function hasUnfinishedCondition({ condition }: Pick<DraftStep, "condition">): boolean {
  return condition != null && comparisonsOf(condition.when).some(isUnfinished);
}

/** The comparison with `change` applied; a value that no longer fits has to be chosen. */
export function changedComparison(before: Comparison, change: Partial<Comparison>, source: DraftStep): Comparison {
  const next = { ...before, ...change };
  const op = AUTHORING[source.type].operators.includes(next.op) ? next.op : (AUTHORING[source.type].operators[0] ?? "exists");
  if (valueFits(op, next.value, source)) return { ...next, op };
  const single = Array.isArray(next.value) ? next.value[0] : next.value;
  const turned = op === "in" || op === "not_in" ? [single] : single;
  return { ...next, op, value: op === "exists" || (valueFits(op, turned, source) ? (turned as Comparison["value"]) : UNSET) };
}

const OPERATOR_TEXTS: Readonly<Record<Operator, string>> = {
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

export function operatorText(op: Operator, type: StepType): string {
  return AUTHORING[type].operatorText?.[op] ?? OPERATOR_TEXTS[op];
}

/** `“Fridge ok?” is No and (“Door” is one of Red, Blue or “Photo” is answered)` */
export function conditionText(when: When, steps: ReadonlyMap<string, DraftStep>): string {
  const words = (part: Part, inner: boolean): string => {
    if (!isGroup(part)) return comparisonText(part, steps.get(part.step) ?? null);
    const text = part.parts.map((one) => words(one, true)).join(part.join === "all" ? " and " : " or ");
    return inner && part.parts.length > 1 ? `(${text})` : text;
  };
  return words(readWhen(when), false);
}

function comparisonText({ step, op, value }: Comparison, source: DraftStep | null): string {
  if (step === "") return "…";
  if (source === null) return `${step} (which is not there) ${op} ${String(value)}`;
  const name = `“${source.label.trim() || source.id}”`;
  if (op === "exists") return `${name} ${value === false ? "is not answered" : "is answered"}`;
  if (value === UNSET) return `${name} ${operatorText(op, source.type)} …`;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return `${name} ${operatorText(op, source.type)} ${values.map((one) => valueText(one, source)).join(", ")}`;
}

export function valueText(value: unknown, source: DraftStep): string {
  if (typeof value === "boolean") return value ? source.config?.true_label || "Yes" : source.config?.false_label || "No";
  const option = source.config?.options?.find((one) => one.id === value);
  if (option) return option.label.trim() || option.id;
  return AUTHORING[source.type].valueText?.(value, source) ?? String(value);
}
