/** Checks whether JSON has the structure of a template, so that the visual editor can show it without losing data. */
import { AUTHORING } from "../step_types";
import type { ConfigField } from "../step_types/kind";
import { isObject, type Draft } from "./draft";

export interface ShapeFault {
  readonly path: string;
  readonly message: string;
}

/** The first thing that the visual editor cannot show; null if `value` is a Draft. */
export function shapeFault(value: unknown): ShapeFault | null {
  return faults(value).next().value ?? null;
}

export function asDraft(value: unknown): Draft | null {
  return shapeFault(value) === null ? (value as Draft) : null;
}

function* faults(value: unknown): Generator<ShapeFault, void> {
  if (!isObject(value)) return yield { path: "", message: "A template is a JSON object." };
  yield* text(value, "name", "", true);
  yield* text(value, "description", "");
  if (value["tags"] !== undefined && !isTexts(value["tags"])) yield { path: "tags", message: "Must be a list of texts." };
  for (const name of ["settings", "execution"]) {
    const part = value[name];
    if (part !== undefined && !isObject(part)) yield { path: name, message: "Must be an object." };
  }
  const settings = isObject(value["settings"]) ? value["settings"] : {};
  yield* flag(settings, "allow_skip", "settings.");
  yield* flag(settings, "signature_on_complete", "settings.");
  if (settings["est_minutes"] != null && typeof settings["est_minutes"] !== "number") yield { path: "settings.est_minutes", message: "Must be a number, or null." };
  yield* text(settings, "layout", "settings.");
  const execution = isObject(value["execution"]) ? value["execution"] : {};
  yield* text(execution, "scope", "execution.");
  yield* text(execution, "identity_required", "execution.");
  if (!Array.isArray(value["sections"])) return yield { path: "sections", message: "Must be a list of sections." };
  const ids = new Set<unknown>();
  for (const [index, section] of value["sections"].entries()) yield* sectionFaults(section, `sections[${index}]`, ids);
}

function* sectionFaults(section: unknown, path: string, ids: Set<unknown>): Generator<ShapeFault, void> {
  if (!isObject(section)) return yield { path, message: "A section is an object." };
  yield* identifier(section, path, ids);
  yield* text(section, "title", `${path}.`, true);
  if (!Array.isArray(section["steps"])) return yield { path: `${path}.steps`, message: "Must be a list of steps." };
  for (const [index, step] of section["steps"].entries()) yield* stepFaults(step, `${path}.steps[${index}]`, ids);
}

function* stepFaults(step: unknown, path: string, ids: Set<unknown>): Generator<ShapeFault, void> {
  if (!isObject(step)) return yield { path, message: "A step is an object." };
  yield* identifier(step, path, ids);
  if (typeof step["type"] !== "string" || !(step["type"] in AUTHORING)) yield { path: `${path}.type`, message: "There is no such type of step." };
  yield* text(step, "label", `${path}.`, true);
  if (step["hint"] !== null) yield* text(step, "hint", `${path}.`);
  for (const name of ["required", "geo", "geo_required"]) yield* flag(step, name, `${path}.`);
  const { photo, condition, config } = step;
  if (photo !== undefined && photo !== false) {
    if (!isObject(photo)) yield { path: `${path}.photo`, message: "Must be false, or an object with min and max." };
    else for (const name of ["min", "max"]) yield* number(photo, name, `${path}.photo.`);
  }
  if (condition != null) {
    const when = isObject(condition) ? condition["when"] : undefined;
    if (!isWhen(when, 2)) yield { path: `${path}.condition`, message: "A condition has a `when`: a comparison with step, op and value, or a group of them." };
  }
  if (config !== undefined) yield* configFaults(config, `${path}.config`);
}

const namesOf = (kind: ConfigField["kind"]) => new Set(Object.values(AUTHORING).flatMap(({ fields = [] }) => fields.filter((field) => field.kind === kind).map(({ name }) => name)));
const [TEXTS, NUMBERS, FLAGS] = [namesOf("text"), namesOf("number"), namesOf("flag")];

function* configFaults(config: unknown, path: string): Generator<ShapeFault, void> {
  if (!isObject(config)) return yield { path, message: "Must be an object." };
  for (const name of TEXTS) yield* text(config, name, `${path}.`);
  for (const name of NUMBERS) yield* number(config, name, `${path}.`);
  for (const name of FLAGS) yield* flag(config, name, `${path}.`);
  yield* expectedFaults(config, path);
  if (config["options"] === undefined) return;
  if (!Array.isArray(config["options"])) return yield { path: `${path}.options`, message: "Must be a list of options." };
  const ids = new Set<unknown>();
  for (const [index, option] of config["options"].entries()) {
    const place = `${path}.options[${index}]`;
    if (!isObject(option)) yield { path: place, message: "An option is an object." };
    else {
      yield* identifier(option, place, ids);
      yield* text(option, "label", `${place}.`, true);
    }
  }
}

function* expectedFaults({ expected, on_flag }: Readonly<Record<string, unknown>>, path: string): Generator<ShapeFault, void> {
  if (isObject(expected)) for (const name of ["min", "max", "not_before", "not_after"]) yield* number(expected, name, `${path}.expected.`);
  else if (expected !== undefined && typeof expected !== "boolean" && !isTexts(expected)) {
    yield { path: `${path}.expected`, message: "Must be true or false, a list of option ids, or an object." };
  }
  if (on_flag === undefined) return;
  if (!isObject(on_flag)) return yield { path: `${path}.on_flag`, message: "Must be an object." };
  yield* flag(on_flag, "note", `${path}.on_flag.`);
  if (on_flag["photos"] === undefined) return;
  if (!isObject(on_flag["photos"])) return yield { path: `${path}.on_flag.photos`, message: "Must be an object with min and max." };
  for (const name of ["min", "max"]) yield* number(on_flag["photos"], name, `${path}.on_flag.photos.`);
}

function* identifier(owner: Readonly<Record<string, unknown>>, path: string, taken: Set<unknown>): Generator<ShapeFault, void> {
  const id = owner["id"];
  if (typeof id !== "string" || id === "") yield { path: `${path}.id`, message: "Needs an id." };
  else if (taken.has(id)) yield { path: `${path}.id`, message: `The id ${id} is used twice.` };
  taken.add(id);
}

function* text(owner: Readonly<Record<string, unknown>>, name: string, prefix: string, needed = false): Generator<ShapeFault, void> {
  const value = owner[name];
  if (value === undefined ? needed : typeof value !== "string") yield { path: `${prefix}${name}`, message: "Must be text." };
}

function* number(owner: Readonly<Record<string, unknown>>, name: string, prefix: string): Generator<ShapeFault, void> {
  if (owner[name] !== undefined && typeof owner[name] !== "number") yield { path: `${prefix}${name}`, message: "Must be a number." };
}

function* flag(owner: Readonly<Record<string, unknown>>, name: string, prefix: string): Generator<ShapeFault, void> {
  if (owner[name] !== undefined && typeof owner[name] !== "boolean") yield { path: `${prefix}${name}`, message: "Must be true or false." };
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isWhen(when: unknown, levels: number): boolean {
  if (!isObject(when)) return false;
  const groups = ["all", "any"].filter((name) => when[name] !== undefined);
  const compares = ["step", "op", "value"].filter((name) => when[name] !== undefined);
  if (groups.length === 0) return compares.length === 3 && typeof when["step"] === "string" && typeof when["op"] === "string";
  const parts = when[groups[0] ?? ""];
  return groups.length === 1 && compares.length === 0 && levels > 0 && Array.isArray(parts) && parts.length > 0 && parts.every((part) => isWhen(part, levels - 1));
}
