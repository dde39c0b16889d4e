import { type AnswerLike, gapOf, type Problem, type Step, takesDrawing } from "../../core";
import { Icon, type IconName } from "../../kit/controls/icon";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { isRefused } from "../store/refused_photos";
import type { LocalAnswer } from "../store/types";

interface Situation {
  step: Step;
  answer: LocalAnswer | undefined;
  held: Problem | null;
  /** Whether the held input is the beginning of an answer. */
  isChoosing: boolean;
  typing: boolean;
  /** Whether unsent changes wait for a network. */
  stuck: boolean;
  /** Whether the device stores anything. */
  keeps: boolean;
}

export interface Status {
  readonly icon: IconName;
  readonly tone: "" | "is-good" | "is-warn";
  readonly text: string;
  /** All is well: an icon is enough, and its text is for screen readers. */
  readonly isQuiet: boolean;
}

/** The status of the step as an icon and text. */
export function StepState({ status: { icon, tone, text, isQuiet } }: { status: Status }) {
  return (
    <p class={`step-state ${tone}${isQuiet ? " is-quiet" : ""}`} title={isQuiet ? text : undefined}>
      <Icon name={icon} />
      <span class={isQuiet ? "vh" : undefined}>{text}</span>
    </p>
  );
}

/** null: the step has no answer, and nothing is to be said about it. */
export function statusOf({ step, answer, held, isChoosing, typing, stuck, keeps }: Situation): Status | null {
  // The displayed input is newer than the stored one and is about to be stored.
  if (typing) return quiet("cloud", "", t("sync.saving"));
  if (held !== null && isChoosing) return loud("circle", "", problemText(translator.value, held));
  if (held !== null) return loud("alert", "is-warn", t("checklist.not_kept"));
  if (answer?.skipped) return loud("skip", "", t("checklist.skipped"));
  if (answer?.photos.some(isRefused)) return loud("alert", "is-warn", t("photo.refused"));
  const gap = openPart(step, answer);
  if (gap !== null) return answer === undefined || (gap.code === "required" && gap.path === "value") ? null : loud("circle", "", problemText(translator.value, gap));
  if (answer?.pending && !keeps) return stuck ? loud("cloud", "is-warn", t("checklist.waiting")) : quiet("cloud", "", t("sync.saving"));
  if (answer?.pending) return stuck ? quiet("cloud", "is-good", t("checklist.kept_on_device")) : quiet("check", "is-good", t("checklist.kept"));
  return quiet("check-circle", "is-good", t("sync.saved"));
}

/** The first part that an answer lacks, as `gapOf`; a drawing alone lacks the typed name. */
export function openPart(step: Step, answer: AnswerLike | undefined): Problem | null {
  const gap = gapOf(step, answer);
  const isDrawn = takesDrawing(step) && (answer?.photos.length ?? 0) > 0;
  return isDrawn && gap?.code === "required" ? { path: "signature", code: "required" } : gap;
}

const quiet = (icon: IconName, tone: Status["tone"], text: string): Status => ({ icon, tone, text, isQuiet: true });
const loud = (icon: IconName, tone: Status["tone"], text: string): Status => ({ icon, tone, text, isQuiet: false });
