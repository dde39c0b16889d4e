/**
 * A template that is being edited, as JSON. Fields with defaults may be missing, and unknown fields are preserved:
 * every change spreads the previous object.
 */
import { MAX_PHOTOS_PER_STEP } from "../bounds";
import type { Option, PhotoBounds, Section, Settings, Execution, Step, StepConfig, StepType, Template, When } from "../types";

export interface DraftStep {
  readonly id: string;
  readonly type: StepType;
  readonly label: string;
  readonly hint?: string | null;
  readonly required?: boolean;
  readonly photo?: false | Partial<PhotoBounds>;
  readonly geo?: boolean;
  readonly geo_required?: boolean;
  readonly condition?: { readonly when: When } | null;
  readonly config?: StepConfig;
}

export interface DraftSection {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly DraftStep[];
}

export interface Draft {
  readonly name: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly settings?: Partial<Settings>;
  readonly sections: readonly DraftSection[];
  readonly execution?: Partial<Execution>;
}

/** The fields that an author writes; the service sets all others. */
export const AUTHORED = ["name", "description", "tags", "settings", "sections", "execution"] as const;

/** Numbers, and lengths in characters, of the service; `tests/unit/repository/test_bounds.py` compares them. */
export const LIMITS = {
  sections: 50,
  steps: 500,
  options: 100,
  tags: 50,
  tag: 64,
  name: 200,
  description: 4_000,
  /** Of a section's title and a step's label. */
  title: 500,
  hint: 1_000,
  option: 200,
  comparisons: 10,
} as const;

export const DEFAULT_SETTINGS: Settings = { allow_skip: false, signature_on_complete: false, est_minutes: null };
export const DEFAULT_EXECUTION: Execution = { scope: "any", identity_required: "none" };

/** The title of a section until its author writes another: a section without a title cannot be stored. */
export function titleOfSection(number: number): string {
  return `Section ${number}`;
}

export const EMPTY_DRAFT: Draft = {
  name: "",
  description: "",
  tags: [],
  settings: DEFAULT_SETTINGS,
  sections: [{ id: "g-first", title: titleOfSection(1), steps: [] }],
  execution: DEFAULT_EXECUTION,
};

/** Picks the author's fields from a template of the service. */
export function authored(template: object): Draft {
  const given = template as Readonly<Record<string, unknown>>;
  return Object.fromEntries(AUTHORED.flatMap((name) => (name in given ? [[name, given[name]]] : []))) as unknown as Draft;
}

export function allSteps(draft: Draft): DraftStep[] {
  return draft.sections.flatMap((section) => section.steps);
}

export function countSteps(draft: Draft): number {
  return draft.sections.reduce((sum, section) => sum + section.steps.length, 0);
}

export interface Where {
  readonly section: number;
  readonly step: number;
}

export function whereIs(draft: Draft, stepId: string): Where | null {
  for (const [section, { steps }] of draft.sections.entries()) {
    const step = steps.findIndex((one) => one.id === stepId);
    if (step >= 0) return { section, step };
  }
  return null;
}

export function stepOf(draft: Draft, stepId: string): DraftStep | null {
  const where = whereIs(draft, stepId);
  return where === null ? null : (draft.sections[where.section]?.steps[where.step] ?? null);
}

const completed = new WeakMap<DraftStep, Step>();

/**
 * The step with its defaults. The same input object returns the same result, so that unchanged steps are not rendered
 * again.
 */
export function completeStep(step: DraftStep): Step {
  const known = completed.get(step);
  if (known !== undefined) return known;
  const { condition, photo, ...rest } = step;
  const made: Step = {
    hint: null,
    required: false,
    geo: false,
    geo_required: false,
    config: {},
    ...rest,
    photo: photo ? { min: photo.min ?? 0, max: photo.max ?? MAX_PHOTOS_PER_STEP } : false,
    ...(condition ? { condition } : {}),
  };
  completed.set(step, made);
  return made;
}

/** The template that a run would use, as far as it is written. */
export function completeTemplate(draft: Draft): Template {
  return {
    name: draft.name,
    description: draft.description ?? "",
    tags: draft.tags ?? [],
    settings: { ...DEFAULT_SETTINGS, ...draft.settings },
    execution: { ...DEFAULT_EXECUTION, ...draft.execution },
    sections: draft.sections.map((section): Section => ({ ...section, steps: section.steps.map(completeStep) })),
  };
}

/**
 * The merge patch (RFC 7396) from the stored template to this one. Fields missing in the draft are set to their
 * default, or removed if there is none, so that the service reports them as missing.
 */
export function patchOf(draft: Draft): Readonly<Record<string, unknown>> {
  const given = draft as unknown as Readonly<Record<string, unknown>>;
  const object = (value: unknown, defaults: object) => (value === undefined ? defaults : isObject(value) ? { ...defaults, ...value } : value);
  return {
    ...given,
    name: given["name"] ?? null,
    sections: given["sections"] ?? null,
    description: given["description"] ?? "",
    tags: given["tags"] ?? [],
    settings: object(given["settings"], { ...DEFAULT_SETTINGS, layout: null }),
    execution: object(given["execution"], DEFAULT_EXECUTION),
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Deep JSON equality; the order of fields is ignored. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one).filter((name) => one[name] !== undefined);
  return names.length === Object.keys(other).filter((name) => other[name] !== undefined).length && names.every((name) => name in other && isSame(one[name], other[name]));
}

/** Whether the service would store the same for both: explicit defaults make no difference. */
export function isSameTemplate(one: Draft, other: Draft): boolean {
  if (one === other) return true;
  return isSame(withDefaults(one), withDefaults(other));
}

function withDefaults(draft: Draft): unknown {
  return { ...draft, ...completeTemplate(draft) };
}

export type { Option, StepConfig, StepType };
