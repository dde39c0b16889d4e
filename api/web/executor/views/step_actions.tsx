import { useState } from "preact/hooks";

import type { Step } from "../../core";
import { Dialog } from "../../kit/controls/dialog";
import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { isKept, useApp } from "../context";
import type { LocalAnswer } from "../store/types";

interface StepActionsProps {
  step: Step;
  answer: LocalAnswer | undefined;
  skippable: boolean;
  onDrop(): void;
  onCleared(): void;
  onSkipped: (() => void) | undefined;
}

/** One button for skip, undo skip and clear, which stays the same element. */
export function StepActions({ step, answer, skippable, onDrop, onCleared, onSkipped }: StepActionsProps) {
  const { store } = useApp();
  const [asking, setAsking] = useState(false);
  const given = answer !== undefined && !answer.skipped && (answer.value !== null || answer.photos.length > 0);
  const clear = async () => {
    setAsking(false);
    onDrop();
    if (await isKept(store.clear(step.id))) onCleared();
  };
  const act = async () => {
    if (answer?.skipped) return clear();
    if (given) return answer.photos.length > 0 ? setAsking(true) : clear();
    onDrop();
    if (await isKept(store.skip(step.id))) onSkipped?.();
  };
  if (!given && !answer?.skipped && !skippable) return null;
  const { label } = step;
  const text = answer?.skipped ? t("checklist.answer_after_all") : t(given ? "checklist.clear" : "checklist.skip");
  const name = answer?.skipped ? `${text}: ${label}` : given ? t("checklist.clear_label", { label }) : t("checklist.skip_label", { label });
  return (
    <>
      <button
        type="button"
        class={given ? "button button-quiet button-icon is-clear" : "button button-quiet"}
        aria-label={name}
        title={given ? text : undefined}
        onClick={() => void act()}
      >
        {given ? <Icon name="close" /> : text}
      </button>
      {asking && (
        <Dialog
          title={t("checklist.clear")}
          onClose={() => setAsking(false)}
          foot={
            <>
              <button type="button" class="button button-danger" onClick={() => void clear()}>
                {t("checklist.clear")}
              </button>
              <button type="button" class="button" onClick={() => setAsking(false)}>
                {t("app.back")}
              </button>
            </>
          }
        >
          <p>{t("checklist.clear_photos", { count: answer?.photos.length ?? 0 })}</p>
        </Dialog>
      )}
    </>
  );
}
