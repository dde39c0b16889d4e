/** Step types boolean, single choice and multiple choice. */

import type { Translate } from "../../kit/i18n";
import type { DraftStep } from "../authoring/draft";
import type { Expected, JsonValue, Option, Step } from "../types";
import { CONTAINMENT, EQUALITY, LISTS, accepted, expecting, refused, wrongType, type Authoring, type ExpectedFormat, type StepKind } from "./kind";

export const boolean: StepKind = {
  validate: (_, value) => (typeof value === "boolean" ? accepted(value) : wrongType("boolean")),
  display({ config }, value, words) {
    if (typeof value !== "boolean") return null;
    return value ? config.true_label || words.yes : config.false_label || words.no;
  },
  sortKey: (value) => (typeof value === "boolean" ? value : null),
  isExpected: (expected, value) => typeof expected !== "boolean" || value === expected,
  expectedText: (step, expected, { words }) => boolean.display?.(step, expected, words) ?? "",
};

export const booleanAuthoring: Authoring = {
  name: "Yes or no",
  meaning: "Two large buttons, with words of your own",
  icon: "check-circle",
  fields: [
    { kind: "text", name: "true_label", label: "Word for yes", placeholder: "Yes" },
    { kind: "text", name: "false_label", label: "Word for no", placeholder: "No" },
    ...expecting("truth"),
  ],
  operators: [...EQUALITY, "exists"],
  compared: "truth",
  fits: (value) => typeof value === "boolean",
};

export const choice: StepKind = {
  validate(step, value) {
    if (typeof value !== "string") return wrongType("choice");
    return optionsOf(step).some((option) => option.id === value) ? accepted(value) : refused("unknown_option");
  },
  display: (step, value) => (typeof value === "string" ? labelOf(step, value) : null),
  isExpected: (expected, value) => !Array.isArray(expected) || expected.includes(value),
  expectedText: expectedOptions,
};

const ofOptions = {
  compared: "option",
  fits: (value: unknown, { config }: DraftStep) => typeof value === "string" && (!config?.options?.length || config.options.some((option) => option.id === value)),
} as const;

export const choiceAuthoring: Authoring = {
  name: "Choice of one",
  meaning: "One of a list of options",
  icon: "circle",
  fields: [{ kind: "options", name: "options" }, ...expecting("options")],
  operators: [...EQUALITY, ...LISTS, "exists"],
  ...ofOptions,
};

export const multiChoice: StepKind = {
  validate(step, value) {
    if (!Array.isArray(value)) return wrongType("multi_choice");
    const known = optionsOf(step).map((option) => option.id);
    for (const item of value as readonly JsonValue[]) {
      if (typeof item !== "string") return wrongType("multi_choice");
      if (!known.includes(item)) return refused("unknown_option");
    }
    const chosen = new Set<unknown>(value);
    if (chosen.size < value.length) return refused("duplicate_option");
    const { min, max } = selectionBounds(step);
    if (chosen.size < min) return refused("too_few", { count: min });
    if (chosen.size > max) return refused("too_many", { count: max });
    return accepted(known.filter((option) => chosen.has(option)));
  },
  display(step, value, words) {
    if (!Array.isArray(value)) return null;
    const labels = value.map((item) => labelOf(step, String(item)));
    return labels.length > 0 ? words.list(labels) : words.none;
  },
  hints: (step, t) => [selectionHint(step, t)],
  isExpected: (expected, value) => !Array.isArray(expected) || !Array.isArray(value) || value.every((one) => expected.includes(one)),
  expectedText: expectedOptions,
};

export const multiChoiceAuthoring: Authoring = {
  name: "Choice of several",
  meaning: "Some of a list of options",
  icon: "check",
  fields: [
    { kind: "options", name: "options" },
    { kind: "number", name: "min_selected", label: "Fewest to choose", none: (step) => (step.required ? "1" : "0"), min: 0, max: 100, whole: true },
    { kind: "number", name: "max_selected", label: "Most to choose", none: "all", min: 1, max: 100, whole: true },
    ...expecting("options"),
  ],
  operators: [...CONTAINMENT, "exists"],
  operatorText: { contains: "includes", not_contains: "does not include" },
  ...ofOptions,
};

export function optionsOf(step: Step): readonly Option[] {
  return step.config.options ?? [];
}

/** Minimum and maximum number of options of a multi_choice step. */
export function selectionBounds(step: Step): { readonly min: number; readonly max: number } {
  const { min_selected, max_selected } = step.config;
  return { min: min_selected ?? Number(step.required), max: max_selected ?? optionsOf(step).length };
}

function expectedOptions(step: Step, expected: Expected, { words }: ExpectedFormat): string {
  if (!Array.isArray(expected)) return "";
  return expected.length > 0 ? words.list(expected.map((id) => labelOf(step, String(id)))) : words.none;
}

function labelOf(step: Step, id: string): string {
  return optionsOf(step).find((option) => option.id === id)?.label ?? id;
}

function selectionHint(step: Step, t: Translate): string {
  const { min, max } = selectionBounds(step);
  const most = step.config.max_selected != null && max < optionsOf(step).length;
  if (most && min === max) return t("choice.exactly", { count: max });
  if (most && min > 0) return t("choice.between", { min, max });
  if (most) return t("choice.at_most", { count: max });
  return min > 1 ? t("choice.at_least", { count: min }) : t("choice.any");
}
