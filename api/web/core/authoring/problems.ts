/**
 * Validation problems from the service (`sections[0].steps[3].config.min`), bound to the section or step by id, so that
 * they survive reordering. A problem is removed when its field changes.
 */
import { isObject, type Draft } from "./draft";

export interface GivenProblem {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export interface Anchored extends GivenProblem {
  /** `s-...` or `g-...`; null for the template itself. */
  readonly owner: string | null;
  /** Path within the owner: `config.options[1].label`; "" is the owner itself. */
  readonly field: string;
}

const IN_STEP = /^sections\[(\d+)\]\.steps\[(\d+)\]\.?(.*)$/;
const IN_SECTION = /^sections\[(\d+)\]\.?(.*)$/;

export function anchored(problem: GivenProblem, draft: Draft): Anchored {
  const inStep = IN_STEP.exec(problem.path);
  const step = inStep && draft.sections[Number(inStep[1])]?.steps[Number(inStep[2])];
  if (inStep && step) return { ...problem, owner: step.id, field: inStep[3] ?? "" };
  const inSection = IN_SECTION.exec(problem.path);
  const section = inSection && draft.sections[Number(inSection[1])];
  if (inSection && section) return { ...problem, owner: section.id, field: inSection[2] ?? "" };
  return { ...problem, owner: null, field: problem.path };
}

/** The problems that remain after `before` was changed to `after`. */
export function remainingProblems(problems: readonly Anchored[], before: Draft, after: Draft): readonly Anchored[] {
  if (problems.length === 0) return problems;
  const old = owners(before);
  const now = owners(after);
  const open = problems.filter(({ owner, field }) => now.has(owner) && valueAt(old.get(owner), field) === valueAt(now.get(owner), field));
  return open.length === problems.length ? problems : open;
}

/** The current path of the problem, in the notation of the service. */
export function pathOf({ owner, field }: Anchored, draft: Draft): string {
  if (owner === null) return field;
  for (const [index, section] of draft.sections.entries()) {
    const tail = field === "" ? "" : `.${field}`;
    if (section.id === owner) return `sections[${index}]${tail}`;
    const step = section.steps.findIndex((one) => one.id === owner);
    if (step >= 0) return `sections[${index}].steps[${step}]${tail}`;
  }
  return field;
}

function owners(draft: Draft): Map<string | null, unknown> {
  const found = new Map<string | null, unknown>([[null, draft]]);
  for (const section of draft.sections) {
    found.set(section.id, section);
    for (const step of section.steps) found.set(step.id, step);
  }
  return found;
}

function valueAt(owner: unknown, field: string): unknown {
  if (field === "") return owner;
  let value = owner;
  for (const part of field.split(/\.|\[|\]\.?/).filter((one) => one !== "")) {
    if (Array.isArray(value)) value = value[Number(part)];
    else if (isObject(value)) value = value[part];
    else return undefined;
  }
  return value;
}
