import type { Step, Template, When } from "../../../core/types";

export function step(id: string, more: Partial<Step> = {}): Step {
  const plain = { type: "text", label: id, hint: null, required: false, photo: false, geo: false, geo_required: false } as const;
  return { id, ...plain, config: { multiline: false }, ...more };
}

export function when(source: string, value: boolean): { when: When } {
  return { when: { step: source, op: "eq", value } };
}

export function template(steps: readonly Step[], more: Partial<Template> = {}): Template {
  return {
    name: "Cellar",
    description: "",
    tags: [],
    settings: { allow_skip: true, signature_on_complete: false, est_minutes: null },
    sections: [{ id: "g-1", title: "All", steps }],
    execution: { scope: "any", identity_required: "none" },
    ...more,
  };
}
