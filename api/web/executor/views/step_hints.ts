import { kindOf, type Step } from "../../core";
import { t } from "../../kit/language";

/** The hints below the question: the author's, and the bounds. */
export function stepHints(step: Step): string[] {
  const bounds = kindOf(step).hints?.(step, t) ?? [];
  return [step.hint ?? "", bounds.filter((text) => text !== "").join(" · ")].filter((text) => text !== "");
}
