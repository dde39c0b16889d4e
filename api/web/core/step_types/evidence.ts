/** Step types photo, signature and instruction. */

import { MAX_NAME, MAX_PHOTOS_PER_STEP } from "../bounds";
import { canBeStored, hasVisibleText, lengthOf, strip } from "../text";
import type { JsonValue } from "../types";
import { accepted, refused, wrongType, type Authoring, type StepKind } from "./kind";

export const photo: StepKind = {
  validate: (_, value) => (value === null ? accepted(null) : wrongType("photo")),
  hasValue: ({ photos }) => photos.length > 0,
  photoBounds(step) {
    const { min, max } = step.config;
    const written = min == null && max == null && step.photo ? step.photo : { min: min ?? 1, max: max ?? MAX_PHOTOS_PER_STEP };
    return { min: Math.max(1, written.min), max: written.max };
  },
  takes: "photos",
};

export const photoAuthoring: Authoring = {
  name: "Photo",
  meaning: "One or more pictures",
  icon: "camera",
  fields: [
    { kind: "number", name: "min", label: "Minimum photos", none: "1", min: 0, max: MAX_PHOTOS_PER_STEP, whole: true },
    { kind: "number", name: "max", label: "Maximum photos", none: String(MAX_PHOTOS_PER_STEP), min: 1, max: MAX_PHOTOS_PER_STEP, whole: true },
  ],
  operators: ["exists"],
};

export const signature: StepKind = {
  validate(_, value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return wrongType("signature");
    const path = "value.name";
    const name = (value as Readonly<Record<string, JsonValue | undefined>>)["name"];
    if (name == null) return refused("missing", {}, path);
    if (typeof name !== "string") return wrongType("name", path);
    if (!canBeStored(name)) return refused("invalid_text", {}, path);
    if (!hasVisibleText(name)) return refused("blank", {}, path);
    const stripped = strip(name);
    if (lengthOf(stripped) > MAX_NAME) return refused("too_long", { count: MAX_NAME }, path);
    return accepted({ url: null, name: stripped, signed_at: null });
  },
  display: (_, value, words) => (typeof value === "object" && value !== null && "name" in value ? words.signedBy(String(value.name)) : null),
  field: "typed",
  takes: "drawing",
};

export const signatureAuthoring: Authoring = {
  name: "Signature",
  meaning: "A name, and a drawing if they like",
  icon: "person",
  operators: ["exists"],
};

export const instruction: StepKind = {
  validate: () => refused("no_answer"),
  hasValue: () => false,
  photoBounds: () => null,
  takes: "nothing",
};

export const instructionAuthoring: Authoring = {
  name: "Instruction",
  meaning: "Something to read; takes no answer",
  icon: "info",
  operators: [],
};
