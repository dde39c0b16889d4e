/** Changes to a draft. Each returns a new draft; sections and steps that it does not change stay the same objects. */
import { AUTHORING } from "../step_types";
import type { StepConfig, StepType } from "../types";
import { LIMITS, countSteps, titleOfSection, whereIs, type Draft, type DraftSection, type DraftStep, type Where } from "./draft";
import { freeId, provisionalId, slugOf, takenIds } from "./ids";

export function withSection(draft: Draft, sectionId: string, change: Partial<DraftSection>): Draft {
  return { ...draft, sections: draft.sections.map((section) => (section.id === sectionId ? { ...section, ...change } : section)) };
}

/** Fields whose new value is undefined are removed. */
export function withStep(draft: Draft, stepId: string, change: { readonly [Name in keyof DraftStep]?: DraftStep[Name] | undefined }): Draft {
  const where = whereIs(draft, stepId);
  const section = where && draft.sections[where.section];
  if (!section) return draft;
  const steps = section.steps.map((step) => (step.id === stepId ? without({ ...step, ...change }) : step));
  return withSection(draft, section.id, { steps });
}

export function withConfig(draft: Draft, step: DraftStep, change: Readonly<Record<string, unknown>>): Draft {
  return withStep(draft, step.id, { config: without({ ...step.config, ...change }) as StepConfig });
}

function without<T extends object>(owner: T): DraftStep & T {
  return Object.fromEntries(Object.entries(owner).filter(([, value]) => value !== undefined)) as DraftStep & T;
}

/** Why no step (section) can be added; null if one can. */
export function noMoreSteps(draft: Draft): string | null {
  return countSteps(draft) >= LIMITS.steps ? `A template has at most ${LIMITS.steps} steps.` : null;
}

export function noMoreSections(draft: Draft): string | null {
  return draft.sections.length >= LIMITS.sections ? `A template has at most ${LIMITS.sections} sections.` : null;
}

export interface Made {
  readonly draft: Draft;
  readonly id: string;
}

export function addSection(draft: Draft, after: number): Made {
  const id = provisionalId("g", takenIds(draft));
  const sections = [...draft.sections];
  const titles = new Set(sections.map((section) => section.title.trim()));
  let number = sections.length + 1;
  while (titles.has(titleOfSection(number))) number += 1;
  sections.splice(after + 1, 0, { id, title: titleOfSection(number), steps: [] });
  return { draft: { ...draft, sections }, id };
}

export function addStep(draft: Draft, type: StepType, at: Where): Made {
  const id = provisionalId("s", takenIds(draft));
  const config: StepConfig = fieldsOf(type).includes("options") ? { options: FIRST_OPTIONS } : {};
  return { draft: insertStep(draft, { id, type, label: "", required: false, config }, at), id };
}

/** Inserts a copy with a new id right after the original. */
export function duplicateStep(draft: Draft, stepId: string): Made | null {
  const where = whereIs(draft, stepId);
  const step = where && draft.sections[where.section]?.steps[where.step];
  if (!step) return null;
  const id = freeId("s", slugOf(step.label) || stepId.slice(2), takenIds(draft));
  return { draft: insertStep(draft, { ...step, id }, { section: where.section, step: where.step + 1 }), id };
}

export function removeStep(draft: Draft, stepId: string): Draft {
  const where = whereIs(draft, stepId);
  const section = where && draft.sections[where.section];
  return section ? withSection(draft, section.id, { steps: section.steps.filter((step) => step.id !== stepId) }) : draft;
}

export function removeSection(draft: Draft, sectionId: string): Draft {
  return { ...draft, sections: draft.sections.filter((section) => section.id !== sectionId) };
}

function insertStep(draft: Draft, step: DraftStep, { section, step: at }: Where): Draft {
  const target = draft.sections[section];
  if (!target) return draft;
  return withSection(draft, target.id, { steps: [...target.steps.slice(0, at), step, ...target.steps.slice(at)] });
}

/** Moves a step before the step that is at `to` now (to the end if `to.step` is the number of steps). */
export function moveStep(draft: Draft, stepId: string, to: Where): Draft {
  const from = whereIs(draft, stepId);
  const step = from && draft.sections[from.section]?.steps[from.step];
  if (!step || !draft.sections[to.section]) return draft;
  if (from.section === to.section && (from.step === to.step || from.step + 1 === to.step)) return draft;
  const shift = from.section === to.section && from.step < to.step ? 1 : 0;
  return insertStep(removeStep(draft, stepId), step, { section: to.section, step: to.step - shift });
}

/** Moves a step one position up or down, across section boundaries. Returns null at the first and last position. */
export function nudgeStep(draft: Draft, stepId: string, by: 1 | -1): Draft | null {
  const from = whereIs(draft, stepId);
  const section = from && draft.sections[from.section];
  if (!section) return null;
  const next = from.step + by;
  if (next >= 0 && next < section.steps.length) return moveStep(draft, stepId, { section: from.section, step: by > 0 ? next + 1 : next });
  const neighbour = draft.sections[from.section + by];
  if (!neighbour) return null;
  return moveStep(draft, stepId, { section: from.section + by, step: by > 0 ? 0 : neighbour.steps.length });
}

export function nudgeSection(draft: Draft, sectionId: string, by: 1 | -1): Draft | null {
  const from = draft.sections.findIndex((section) => section.id === sectionId);
  const section = draft.sections[from];
  const to = from + by;
  if (!section || to < 0 || to >= draft.sections.length) return null;
  const sections = draft.sections.filter((one) => one !== section);
  sections.splice(to, 0, section);
  return { ...draft, sections };
}

/** Moves a step right after another one, which fixes a condition that refers to a later step. */
export function moveBehind(draft: Draft, stepId: string, afterId: string): Draft {
  const after = whereIs(draft, afterId);
  return after ? moveStep(draft, stepId, { section: after.section, step: after.step + 1 }) : draft;
}

/** `position 2 of 5 in “Kitchen”` */
export function positionText(draft: Draft, stepId: string): string {
  const where = whereIs(draft, stepId);
  const section = where && draft.sections[where.section];
  return section ? `position ${where.step + 1} of ${section.steps.length} in “${section.title.trim() || `Section ${where.section + 1}`}”` : "";
}

const FIRST_OPTIONS = [{ id: "o-1", label: "" }, { id: "o-2", label: "" }];
const CONFIG_FIELDS: ReadonlySet<string> = new Set(Object.values(AUTHORING).flatMap(({ fields = [] }) => fields.map(({ name }) => name)));

/** The config fields that apply to the type. */
function fieldsOf(type: StepType): readonly string[] {
  return AUTHORING[type].fields?.map(({ name }) => name) ?? [];
}

/** Changes the type of a step: removes the settings that the new type does not have, and keeps unknown ones. */
export function changeStepType(draft: Draft, step: DraftStep, type: StepType): Draft {
  const [kept, before] = [fieldsOf(type), fieldsOf(step.type)];
  // The bounds have another meaning for the new type.
  const changesMeaning = (name: string) => ["min", "max", "expected", "on_flag"].includes(name) && before.includes(name);
  const drop = (name: string) => CONFIG_FIELDS.has(name) && (!kept.includes(name) || changesMeaning(name));
  const config: Record<string, unknown> = Object.fromEntries(Object.entries(step.config ?? {}).filter(([name]) => !drop(name)));
  if (kept.includes("options") && !config["options"]) config["options"] = FIRST_OPTIONS;
  return withStep(draft, step.id, { type, config: config as StepConfig });
}
