import { kindOf, type Step } from "../../core";
import { t } from "../../kit/language";

/** What is said below the question: the author's hint, and the bounds, before anybody breaks them. */
export function stepHints(step: Step): string[] {
  const bounds = kindOf(step).hints?.(step, t) ?? [];
  return [step.hint ?? "", bounds.filter((text) => text !== "").join(" · ")].filter((text) => text !== "");
}
