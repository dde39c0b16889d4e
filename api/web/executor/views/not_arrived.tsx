import { displayValue, stepsOf, type Step, type Template } from "../../core";
import { Message } from "../../kit/controls/messages";
import { t, translator } from "../../kit/language";
import type { NotArrived } from "../store/types";
import { words } from "./display_text";

/** Answers on this device that came after the checklist was closed elsewhere. */
export function NotArrivedList({ items, template }: { items: readonly NotArrived[]; template: Template }) {
  const steps = new Map(stepsOf(template).map((step) => [step.id, step]));
  const answers = items.flatMap((item) => {
    const step = item.stepId === null ? undefined : steps.get(item.stepId);
    return step !== undefined && ANSWERS.has(item.kind) ? [{ item, step }] : [];
  });
  if (answers.length === 0) return null;
  return (
    <Message tone="bad" title={t("notice.not_arrived_title")}>
      <p>{t("notice.not_arrived", { count: answers.length })}</p>
      <ul class="late">
        {answers.map(({ item, step }, index) => (
          <li key={index}>
            <span dir="auto">{step.label}</span>
            <strong dir="auto">{textOf(item, step)}</strong>
            <span class="quiet small">{translator.value.moment(item.at)}</span>
          </li>
        ))}
      </ul>
    </Message>
  );
}

const ANSWERS: ReadonlySet<NotArrived["kind"]> = new Set(["answer", "clear", "skip", "photo", "photo_removed"]);

function textOf(item: NotArrived, step: Step): string {
  if (item.kind === "answer") return displayValue(step, item.value, words());
  if (item.kind === "photo") return t("done.photos");
  if (item.kind === "photo_removed") return t("photo.removed");
  return t(item.kind === "skip" ? "checklist.skipped" : "checklist.clear");
}
