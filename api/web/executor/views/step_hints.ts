import { selectionBounds, type Step } from "../../core";
import { t } from "../../kit/language";

/** What is said below the question: the author's hint, and the bounds, before anybody breaks them. */
export function stepHints(step: Step): string[] {
  const bounds = boundsOf(step).filter((text) => text !== "");
  return [step.hint ?? "", bounds.join(" · ")].filter((text) => text !== "");
}

function boundsOf(step: Step): string[] {
  if (step.type === "number") return [numberRange(step), decimals(step)];
  return step.type === "multi_choice" ? [selection(step)] : [];
}

function numberRange({ config: { min, max } }: Step): string {
  if (min != null && max != null) return t("number.between", { min, max });
  if (min != null) return t("number.at_least", { min });
  return max != null ? t("number.at_most", { max }) : "";
}

function decimals({ config: { decimal } }: Step): string {
  if (decimal == null) return "";
  return decimal === 0 ? t("number.whole") : t("number.decimals", { count: decimal });
}

function selection(step: Step): string {
  const { min, max } = selectionBounds(step);
  const most = step.config.max_selected != null && max < (step.config.options?.length ?? 0);
  if (most && min === max) return t("choice.exactly", { count: max });
  if (most && min > 0) return t("choice.between", { min, max });
  if (most) return t("choice.at_most", { count: max });
  return min > 1 ? t("choice.at_least", { count: min }) : t("choice.any");
}
