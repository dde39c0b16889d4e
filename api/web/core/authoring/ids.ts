/** Ids of sections, steps and options. They are keys of answers, so they are readable where possible. */
import { allSteps, type Draft, type DraftStep } from "./draft";
import { renamedIn } from "./when";

const LONGEST = 48;
/** The form of ids assigned before there is a label. */
const PROVISIONAL = /^[gso]-new-\d+$/;

/** Turns `"Fridge ok?"` into `fridge-ok`; "" if the label has no Latin letters. */
export function slugOf(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/ß/g, "ss")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, LONGEST)
    .replace(/^-+|-+$/g, "");
}

/** `s-fridge-ok`, or `s-fridge-ok-2` if that id exists. */
export function freeId(prefix: "g" | "s" | "o", slug: string, taken: ReadonlySet<string>): string {
  const plain = `${prefix}-${slug}`;
  if (slug !== "" && !taken.has(plain)) return plain;
  for (let number = slug === "" ? 1 : 2; ; number += 1) {
    const id = slug === "" ? `${prefix}-${number}` : `${plain}-${number}`;
    if (!taken.has(id)) return id;
  }
}

export function provisionalId(prefix: "g" | "s" | "o", taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) if (!taken.has(`${prefix}-new-${number}`)) return `${prefix}-new-${number}`;
}

export function takenIds(draft: Draft): Set<string> {
  return new Set(draft.sections.flatMap((section) => [section.id, ...section.steps.map((step) => step.id)]));
}

/** Changes a step's id, and every condition that refers to it. */
export function renameStep(draft: Draft, from: string, to: string): Draft {
  if (from === to) return draft;
  return {
    ...draft,
    sections: draft.sections.map((section) => {
      const steps = section.steps.map((step): DraftStep => {
        const when = step.condition ? renamedIn(step.condition.when, from, to) : null;
        const condition = step.condition && when !== step.condition.when && when !== null ? { condition: { ...step.condition, when } } : {};
        return step.id === from || "condition" in condition ? { ...step, ...condition, id: step.id === from ? to : step.id } : step;
      });
      return steps.every((step, index) => step === section.steps[index]) ? section : { ...section, steps };
    }),
  };
}

/**
 * Replaces provisional ids by ids made from labels. Called once, before the template is first stored: ids are keys of
 * answers.
 */
export function withReadableIds(draft: Draft): Draft {
  let next = draft;
  const taken = takenIds(draft);
  for (const step of allSteps(draft)) {
    if (!PROVISIONAL.test(step.id)) continue;
    taken.delete(step.id);
    const id = freeId("s", slugOf(step.label), taken);
    taken.add(id);
    next = renameStep(next, step.id, id);
  }
  const sections = next.sections.map((section) => {
    if (!PROVISIONAL.test(section.id)) return section;
    taken.delete(section.id);
    const id = freeId("g", slugOf(section.title), taken);
    taken.add(id);
    return { ...section, id };
  });
  return sections.every((section, index) => section === next.sections[index]) ? next : { ...next, sections };
}
