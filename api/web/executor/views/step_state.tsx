import { gapOf, type Problem, type Step } from "../../core";
import { Icon, type IconName } from "../../kit/controls/icon";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { isRefused } from "../store/refused_photos";
import type { LocalAnswer } from "../store/types";

interface StepStateProps {
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

/** The status of the step as an icon and text. Always rendered, so that the layout does not move. */
export function StepState({ typing, ...props }: StepStateProps) {
  const [icon, tone, text] = typing ? TYPING() : statusOf(props);
  return (
    <p class={`step-state ${tone}`}>
      <Icon name={icon} />
      <span>{text}</span>
    </p>
  );
}

/** The displayed input is newer than the stored one and is about to be stored. */
const TYPING = (): [IconName, string, string] => ["cloud", "", t("sync.saving")];

function statusOf({ step, answer, held, isChoosing, stuck, keeps }: Omit<StepStateProps, "typing">): [IconName, string, string] {
  if (held !== null && isChoosing) return ["circle", "", problemText(translator.value, held)];
  if (held !== null) return ["alert", "is-warn", t("checklist.not_kept")];
  if (answer?.skipped) return ["skip", "", t("checklist.skipped")];
  if (answer?.photos.some(isRefused)) return ["alert", "is-warn", t("photo.refused")];
  const gap = gapOf(step, answer);
  if (gap !== null && answer !== undefined && gap.code !== "required") return ["circle", "", problemText(translator.value, gap)];
  if (gap !== null) return ["circle", "", t("review.not_answered")];
  if (answer?.pending && !keeps) return stuck ? ["cloud", "is-warn", t("checklist.waiting")] : TYPING();
  if (answer?.pending) return stuck ? ["cloud", "is-good", t("checklist.kept_on_device")] : ["check", "is-good", t("checklist.kept")];
  return ["check-circle", "is-good", t("sync.saved")];
}
