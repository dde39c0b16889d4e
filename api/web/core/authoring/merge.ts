/**
 * Three-way merge of two edits of the same template, field by field. A field that only one side changed is taken from
 * that side; a field that both changed is a conflict for the user to resolve.
 */
import { isSame, type Draft, type DraftSection, type DraftStep } from "./draft";
import { fieldText, movedIds, plainText, sectionName, stepFieldName, stepFields, stepMap, stepName, templateFields, type StepMap } from "./changes";

export interface Conflict {
  /** A unique key: `step:s-fridge.label`. */
  readonly key: string;
  readonly about: string;
  readonly what: string;
  /** The values in words. */
  readonly base: string;
  readonly yours: string;
  readonly theirs: string;
}

export type Side = "yours" | "theirs";

export interface Merged {
  readonly draft: Draft;
  readonly conflicts: readonly Conflict[];
}

/** `choices` selects the side of each conflict; the default is yours. */
export function merge(base: Draft, yours: Draft, theirs: Draft, choices: ReadonlyMap<string, Side> = new Map()): Merged {
  const merger = new Merger(base, yours, theirs, choices);
  return { draft: merger.draft(), conflicts: merger.conflicts };
}

type Fields = Record<string, unknown>;
interface At {
  readonly step: DraftStep;
  readonly section: string;
}

class Merger {
  readonly conflicts: Conflict[] = [];
  private readonly words: readonly [StepMap, StepMap, StepMap];

  constructor(
    private readonly base: Draft,
    private readonly yours: Draft,
    private readonly theirs: Draft,
    private readonly choices: ReadonlyMap<string, Side>,
  ) {
    this.words = [stepMap(base), stepMap(yours), stepMap(theirs)];
  }

  draft(): Draft {
    const own = this.fields(templateFields(this.base), templateFields(this.yours), templateFields(this.theirs), "template", "Template", (name) => name.replace(/^.*\./, "").replaceAll("_", " "));
    const placedSteps = this.steps();
    const sections = this.sections(new Set(placedSteps.map(({ section }) => section)));
    const order = new Map(sections.map((section, index) => [section.id, index]));
    const steps = sections.map((): DraftStep[] => []);
    // If both sides removed a section, its remaining steps go to the first section.
    for (const { step, section } of placedSteps) steps[order.get(section) ?? 0]?.push(step);
    const { settings, execution, ...rest } = unflatten(own) as { settings?: object; execution?: object };
    return {
      ...(rest as unknown as Draft),
      ...(settings && { settings }),
      sections: sections.map((section, index) => ({ ...section, steps: steps[index] ?? [] })),
      ...(execution && { execution }),
    } as Draft;
  }

  private sections(needed: ReadonlySet<string>): DraftSection[] {
    const [base, yours, theirs] = [byId(this.base.sections), byId(this.yours.sections), byId(this.theirs.sections)];
    const kept = new Map<string, DraftSection>();
    for (const id of new Set([...base.keys(), ...yours.keys(), ...theirs.keys()])) {
      const [was, mine, other] = [base.get(id), yours.get(id), theirs.get(id)];
      const one = mine ?? other ?? (needed.has(id) ? was : undefined);
      const removed = was !== undefined && (mine === undefined || other === undefined);
      if (!one || (removed && !needed.has(id))) continue;
      if (!mine || !other) kept.set(id, one);
      else {
        const title = this.pick(`section:${id}.title`, was?.title, mine.title, other.title, () => ({ about: sectionName(mine), what: "title" }), plainText);
        kept.set(id, { ...other, ...mine, title: title as string });
      }
    }
    return inOrder(
      [this.base, this.yours, this.theirs].map((draft) => draft.sections.map((section) => section.id)),
      kept,
    );
  }

  private steps(): At[] {
    const [base, yours, theirs] = [places(this.base), places(this.yours), places(this.theirs)];
    const kept = new Map<string, At>();
    for (const id of new Set([...base.keys(), ...yours.keys(), ...theirs.keys()])) {
      const merged = this.step(id, base.get(id), yours.get(id), theirs.get(id));
      if (merged !== null) kept.set(id, merged);
    }
    return inOrder(
      [base, yours, theirs].map((one) => [...one.keys()]),
      kept,
    );
  }

  private step(id: string, was: At | undefined, mine: At | undefined, other: At | undefined): At | null {
    if (mine && other) return this.both(id, was, mine, other);
    const left = mine ?? other;
    if (!left) return null;
    if (!was) return left;
    if (isSame(stepFields(left.step), stepFields(was.step))) return null;
    // One side removed it, the other changed it.
    const chosen = this.pick(`step:${id}`, "there", mine ? "changed" : "removed", other ? "changed" : "removed", () => ({ about: stepName(left.step), what: "removed by one, changed by the other" }), String);
    return chosen === "changed" ? left : null;
  }

  private both(id: string, was: At | undefined, mine: At, other: At): At {
    const about = stepName(mine.step);
    const fields = this.fields(was ? stepFields(was.step) : {}, stepFields(mine.step), stepFields(other.step), `step:${id}`, about, stepFieldName);
    const titles = new Map([...this.base.sections, ...this.theirs.sections, ...this.yours.sections].map((section) => [section.id, sectionName(section)]));
    const section = this.pick(`step:${id}.section`, was?.section, mine.section, other.section, () => ({ about, what: "its section" }), (one) => titles.get(String(one)) ?? "nothing");
    const { config, ...rest } = unflatten(fields) as { config?: object };
    return { step: { id, ...rest, config: config ?? {} } as unknown as DraftStep, section: String(section) };
  }

  private fields(base: Fields, yours: Fields, theirs: Fields, key: string, about: string, naming: (name: string) => string): Fields {
    const merged: Fields = {};
    for (const name of Object.keys({ ...base, ...theirs, ...yours })) {
      const value = this.pick(`${key}.${name}`, base[name], yours[name], theirs[name], () => ({ about, what: naming(name) }), (one, side) => fieldText(name, one, this.words[side]));
      if (value !== undefined) merged[name] = value;
    }
    return merged;
  }

  private pick(
    key: string,
    base: unknown,
    yours: unknown,
    theirs: unknown,
    describe: () => Pick<Conflict, "about" | "what">,
    words: (value: unknown, side: 0 | 1 | 2) => string,
  ): unknown {
    if (isSame(yours, theirs) || isSame(theirs, base)) return yours;
    if (isSame(yours, base)) return theirs;
    this.conflicts.push({ key, ...describe(), base: words(base, 0), yours: words(yours, 1), theirs: words(theirs, 2) });
    return this.choices.get(key) === "theirs" ? theirs : yours;
  }
}

/**
 * Takes the order of the side that changed it, or yours if both did. Items added by the other side keep their
 * predecessor.
 */
function inOrder<T>([base = [], yours = [], theirs = []]: readonly (readonly string[])[], kept: ReadonlyMap<string, T>): T[] {
  const [lead, other] = movedIds(base, yours).size === 0 ? [theirs, yours] : [yours, theirs];
  const order = lead.filter((id) => kept.has(id));
  const known = new Set(order);
  for (const source of [other, base]) {
    for (const [index, id] of source.entries()) {
      if (known.has(id) || !kept.has(id)) continue;
      known.add(id);
      const before = source.slice(0, index).findLast((one) => known.has(one));
      order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, id);
    }
  }
  return order.flatMap((id) => {
    const one = kept.get(id);
    return one === undefined ? [] : [one];
  });
}

function byId(sections: readonly DraftSection[]): Map<string, DraftSection> {
  return new Map(sections.map((section) => [section.id, section]));
}

function places(draft: Draft): Map<string, At> {
  return new Map(draft.sections.flatMap((section) => section.steps.map((step) => [step.id, { step, section: section.id }] as const)));
}

/** Turns `{"config.min": 1}` into `{config: {min: 1}}`; deeper names stay as they are. */
function unflatten(fields: Fields): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const [, owner, inner] = /^(settings|execution|config)\.(.*)$/s.exec(name) ?? [];
    if (owner === undefined || inner === undefined) made[name] = value;
    else made[owner] = { ...(made[owner] as object | undefined), [inner]: value };
  }
  return made;
}

