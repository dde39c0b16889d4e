/**
 * Describes the differences between two drafts in words. Sections and steps are matched by id, so a moved step is
 * reported as moved, not as removed and added.
 */
import { MAX_PHOTOS_PER_STEP } from "../bounds";
import { DEFAULT_EXECUTION, DEFAULT_SETTINGS, allSteps, completeStep, isObject, isSame, type Draft, type DraftSection, type DraftStep } from "./draft";
import { AUTHORING } from "../step_types";
import { conditionText } from "./when";

export interface Change {
  readonly kind: "added" | "removed" | "changed" | "moved";
  /** The changed object: `Template`, `Section “Bar”`, `Step “Fridge ok?”`. */
  readonly about: string;
  /** The kind of change: `required`, `moved to “Kitchen”`. */
  readonly what: string;
  /** The values of a changed field, in words. */
  readonly before?: string;
  readonly after?: string;
}

/** One line of plain text: `Step “Fridge ok?”: required: no → yes` */
export function changeLine({ about, what, before, after }: Change): string {
  const values = before === undefined ? "" : `: ${before} → ${after ?? ""}`;
  return `${about}${what.startsWith("added") || what.startsWith("removed") || what.startsWith("moved") ? " " : ": "}${what}${values}`;
}

export function changesBetween(before: Draft, after: Draft): Change[] {
  return [...templateChanges(before, after), ...sectionChanges(before, after), ...stepChanges(before, after)];
}

function templateChanges(before: Draft, after: Draft): Change[] {
  const about = "Template";
  const [old, now] = [templateFields(before), templateFields(after)];
  return Object.keys({ ...old, ...now }).flatMap((name): Change[] =>
    isSame(old[name], now[name]) ? [] : [{ kind: "changed", about, what: TEMPLATE_FIELDS[name] ?? name, before: plainText(old[name]), after: plainText(now[name]) }],
  );
}

const TEMPLATE_FIELDS: Readonly<Record<string, string>> = {
  name: "name",
  description: "description",
  tags: "tags",
  "settings.allow_skip": "steps may be skipped",
  "settings.signature_on_complete": "signature at the end",
  "settings.est_minutes": "estimated minutes",
  "settings.layout": "layout",
  "execution.scope": "who may execute it",
  "execution.identity_required": "identity that is asked for",
};

/** All fields of the template itself, flattened. */
export function templateFields(draft: Draft): Record<string, unknown> {
  const { sections: _, settings, execution, ...rest } = draft;
  return {
    description: "",
    tags: [],
    ...rest,
    ...prefixed("settings", { ...DEFAULT_SETTINGS, ...settings }),
    ...prefixed("execution", { ...DEFAULT_EXECUTION, ...execution }),
  };
}

function prefixed(prefix: string, fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${prefix}.${name}`, value]));
}

function sectionChanges(before: Draft, after: Draft): Change[] {
  const old = new Map(before.sections.map((section) => [section.id, section]));
  const now = new Map(after.sections.map((section) => [section.id, section]));
  const changes: Change[] = [];
  for (const section of before.sections) if (!now.has(section.id)) changes.push({ kind: "removed", about: sectionName(section), what: `removed${withSteps(section)}` });
  const moved = movedIds(
    before.sections.map((section) => section.id),
    after.sections.map((section) => section.id),
  );
  for (const [index, section] of after.sections.entries()) {
    const was = old.get(section.id);
    if (!was) changes.push({ kind: "added", about: sectionName(section), what: `added${withSteps(section)}` });
    else {
      if (moved.has(section.id)) changes.push({ kind: "moved", about: sectionName(section), what: `moved ${behind(after.sections[index - 1])}` });
      if (was.title !== section.title) changes.push({ kind: "changed", about: sectionName(was), what: "title", before: plainText(was.title), after: plainText(section.title) });
    }
  }
  return changes;
}

function behind(one: DraftSection | DraftStep | undefined): string {
  if (one === undefined) return "to the beginning";
  return `behind ${"title" in one ? sectionName(one) : `“${one.label}”`}`;
}

function withSteps(section: DraftSection): string {
  const count = section.steps.length;
  return count === 0 ? "" : ` with ${count} ${count === 1 ? "step" : "steps"}`;
}

function stepChanges(before: Draft, after: Draft): Change[] {
  const [old, now] = [placed(before), placed(after)];
  const labels = [stepMap(before), stepMap(after)] as const;
  const moved = movedIds([...old.keys()], [...now.keys()]);
  const changes: Change[] = [];
  for (const [id, { step }] of old) if (!now.has(id)) changes.push({ kind: "removed", about: stepName(step), what: "removed" });
  for (const [id, { step, section, before: neighbour }] of now) {
    const was = old.get(id);
    if (!was) {
      changes.push({ kind: "added", about: stepName(step), what: `added to ${sectionName(section)} (${AUTHORING[step.type].name.toLowerCase()})` });
      continue;
    }
    if (was.section.id !== section.id) changes.push({ kind: "moved", about: stepName(step), what: `moved to ${sectionName(section)}` });
    else if (moved.has(id)) changes.push({ kind: "moved", about: stepName(step), what: `moved ${behind(neighbour)}` });
    if (was.step !== step) changes.push(...fieldChanges(was.step, step, labels));
  }
  return changes;
}

const STEP_FIELDS: Readonly<Record<string, string>> = {
  type: "type",
  label: "label",
  hint: "hint",
  required: "required",
  photo: "photos",
  geo: "location",
  geo_required: "location required",
  condition: "shown when",
  "config.true_label": "word for yes",
  "config.false_label": "word for no",
  "config.min": "lowest",
  "config.max": "highest",
  "config.unit": "unit",
  "config.decimal": "decimals",
  "config.options": "options",
  "config.min_selected": "fewest options",
  "config.max_selected": "most options",
  "config.multiline": "long text",
  "config.placeholder": "placeholder",
  "config.low_label": "word for the lowest",
  "config.high_label": "word for the highest",
  "config.expected": "expected answer",
  "config.on_flag": "asked for if not as expected",
};

export function stepFieldName(name: string): string {
  return STEP_FIELDS[name] ?? name.replace(/^config\./, "");
}

/** All fields of a step except its id, flattened, with defaults filled in. */
export function stepFields(step: DraftStep): Record<string, unknown> {
  const { id: _, config, ...rest } = completeStep(step);
  return { ...rest, ...prefixed("config", config) };
}

function fieldChanges(before: DraftStep, after: DraftStep, steps: readonly [StepMap, StepMap]): Change[] {
  const [old, now] = [stepFields(before), stepFields(after)];
  return Object.keys({ ...old, ...now }).flatMap((name): Change[] =>
    isSame(old[name], now[name])
      ? []
      : [{ kind: "changed", about: stepName(after), what: stepFieldName(name), before: fieldText(name, old[name], steps[0]), after: fieldText(name, now[name], steps[1]) }],
  );
}

export type StepMap = ReadonlyMap<string, DraftStep>;

export function stepMap(draft: Draft): StepMap {
  return new Map(allSteps(draft).map((step) => [step.id, step]));
}

/** Formats the value of a step's or the template's field for display. */
export function fieldText(name: string, value: unknown, steps: StepMap): string {
  if (name === "condition") return isObject(value) ? conditionText(value["when"] as Parameters<typeof conditionText>[0], steps) : "always";
  if (name === "type" && typeof value === "string") return AUTHORING[value as DraftStep["type"]]?.name ?? value;
  if (name === "photo") return isObject(value) ? `${String(value["min"])} to ${String(value["max"])}` : "none";
  if (name === "config.expected") return expectedValueText(value);
  if (name === "config.on_flag") return isObject(value) ? onFlagText(value) : "nothing";
  if (name === "config.options" && Array.isArray(value)) return value.map((one) => (isObject(one) && String(one["label"]).trim() !== "" ? String(one["label"]) : "(blank)")).join(", ") || "none";
  return plainText(value);
}

const BOUND_NAMES: Readonly<Record<string, string>> = { min: "from", max: "to", not_before: "not before day", not_after: "not after day" };

function expectedValueText(value: unknown): string {
  if (!isObject(value)) return plainText(value);
  const parts = Object.entries(BOUND_NAMES).flatMap(([name, words]) => (value[name] == null ? [] : [`${words} ${String(value[name])}`]));
  return parts.join(", ") || "nothing";
}

function onFlagText({ note, photos }: Readonly<Record<string, unknown>>): string {
  const asked = isObject(photos) ? `photos (${String(photos["min"] ?? 0)} to ${String(photos["max"] ?? MAX_PHOTOS_PER_STEP)})` : "";
  return [note === true ? "a note" : "", asked].filter((part) => part !== "").join(", ") || "nothing";
}

export function plainText(value: unknown): string {
  if (value === undefined || value === null || value === "") return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return `“${value}”`;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.length === 0 ? "nothing" : value.join(", ");
  return typeof value === "number" ? String(value) : JSON.stringify(value);
}

export function sectionName(section: Pick<DraftSection, "title" | "id">): string {
  return `Section “${section.title.trim() || section.id}”`;
}

export function stepName(step: Pick<DraftStep, "label" | "id">): string {
  return `Step “${step.label.trim() || step.id}”`;
}

interface Placed {
  readonly step: DraftStep;
  readonly section: DraftSection;
  /** The id of the previous step in its section. */
  readonly before: DraftStep | undefined;
}

function placed(draft: Draft): Map<string, Placed> {
  return new Map(draft.sections.flatMap((section) => section.steps.map((step, index) => [step.id, { step, section, before: section.steps[index - 1] }] as const)));
}

/**
 * The smallest set of ids to move to turn one order into the other: everything outside a longest common subsequence.
 */
export function movedIds(before: readonly string[], after: readonly string[]): Set<string> {
  const place = new Map(before.map((id, index) => [id, index]));
  const common = after.filter((id) => place.has(id));
  // Longest increasing subsequence of the old positions; tails[n] is the last element of the best run of length n + 1.
  const tails: number[] = [];
  const previous = new Map<number, number>();
  const order = common.map((id) => place.get(id) ?? 0);
  for (const [index, value] of order.entries()) {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((order[tails[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous.set(index, tails[low - 1] ?? 0);
    tails[low] = index;
  }
  const stays = new Set<string>();
  for (let index = tails.at(-1); index !== undefined; index = previous.get(index)) stays.add(common[index] ?? "");
  return new Set(common.filter((id) => !stays.has(id)));
}
