import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";

import { gapOf, kindOf, canSkip, photosFor, type Problem, type Step } from "../../core";
import { ids } from "../../kit/controls/control";
import { Dialog } from "../../kit/controls/dialog";
import { LocationControl } from "../../kit/controls/location";
import { FieldError } from "../../kit/controls/messages";
import { PhotoControl } from "../../kit/controls/photo";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { useAnswering, useStillChoosing } from "../answering";
import { isKept, useApp } from "../context";
import { isRefused, withoutRefused } from "../store/refused_photos";
import type { LocalAnswer } from "../store/types";
import { AnswerControl } from "./answer_control";
import { FlaggedAnswer } from "./flagged_answer";
import { stepHints } from "./step_hints";
import { StepState } from "./step_state";

const NO_PHOTOS: LocalAnswer["photos"] = [];

export function StepBody({ step }: { step: Step }) {
  const { store, page } = useApp();
  const { id } = step;
  const kept = useComputed(() => store.answers.value.get(step.id));
  const stuck = useComputed(() => store.sync.value.state === "offline" || store.sync.value.state === "attention");
  const isGap = useComputed(() => page.tried.value && store.missing.value.includes(step.id));
  const skippable = useComputed(() => store.run.value !== null && canSkip(store.run.value.template, step)).value;
  const answering = useAnswering(step, kept);
  const card = useRef<HTMLElement>(null);
  const isChoosing = useStillChoosing(id, card);
  const [typing, setTyping] = useState(false);

  const answer = kept.value;
  const skipped = answer?.skipped ?? false;
  const photos = answer?.photos ?? NO_PHOTOS;
  const { field, takes } = kindOf(step);
  const bounds = takes === "drawing" ? null : photosFor(step, answer);
  const counted = answer && withoutRefused(answer);
  const rejected = isChoosing ? null : answering.problem;
  const problem = rejected ?? answer?.problem ?? (isGap.value ? gapOf(step, counted) : null);
  const hints = stepHints(step);
  const hintId = hints.length > 0 && `${id}-hint`;
  const errorId = problem !== null && `${id}-error`;
  const wiring = { labelledBy: `${id}-text`, describedBy: ids(hintId, errorId) };

  const focusControl = () =>
    requestAnimationFrame(() => card.current?.querySelector<HTMLElement>("input:not([hidden]), textarea, select, button")?.focus());
  const addPhoto = async (photo: Blob, instead: readonly string[]) => {
    if (!(await isKept(store.addPhoto(id, photo, instead)))) return answering.refuse({ path: "photo", code: "storage_full" });
    if (answering.problem?.code === "storage_full") answering.drop();
    if (takes === "photos" && step.geo && answering.place === null) await answering.keep(null);
  };
  const draw = async (drawing: Blob | null) => {
    const before = photos.map((photo) => photo.key);
    if (drawing !== null) await isKept(store.addPhoto(id, drawing, before));
    else for (const key of before) await isKept(store.removePhoto(id, key));
  };

  if (takes === "nothing") return <Instruction step={step} />;
  return (
    <article ref={card} class={problem || photos.some(isRefused) ? "step is-wrong" : "step"} aria-labelledby={`${id}-text`}>
      <header>
        <h3 id={`${id}-label`} class="step-label" tabIndex={-1}>
          {field && !skipped ? (
            // The control is a single field, so a tap on the question focuses it.
            <label id={`${id}-text`} for={`${id}-input`} dir="auto">
              {step.label}
            </label>
          ) : (
            <span id={`${id}-text`} dir="auto">
              {step.label}
            </span>
          )}
          {step.required && <span class="tag">{t("checklist.required")}</span>}
        </h3>
        {hints.length > 0 && (
          <div id={`${id}-hint`} class="hints">
            {hints.map((hint) => (
              <p key={hint} class="hint" dir="auto">
                {hint}
              </p>
            ))}
          </div>
        )}
      </header>
      {!skipped && (
        <div class="step-answer" onFocusOut={answering.leave}>
          {problem && <FieldError id={`${id}-error`}>{textOf(problem)}</FieldError>}
          <AnswerControl
            {...wiring}
            id={`${id}-input`}
            step={step}
            answering={answering}
            photos={photos}
            required={step.required}
            invalid={problem !== null && !["photo", "geo", "note"].includes(problem.path)}
            now={() => store.now()}
            onDraw={draw}
            onTyping={setTyping}
          />
          <FlaggedAnswer step={step} answer={answer} answering={answering} errorId={problem?.path === "note" && errorId} onTyping={setTyping} />
          {bounds && (
            <PhotoControl
              {...wiring}
              id={takes === "photos" ? `${id}-input` : `${id}-photo`}
              {...bounds}
              photos={photos.map((photo) => ({ ...photo, error: photo.problem && textOf(photo.problem) }))}
              onAdd={addPhoto}
              onRemove={async (key) => void (await isKept(store.removePhoto(id, key)))}
            />
          )}
          {step.geo && (
            <LocationControl
              id={`${id}-place`}
              labelledBy={`${id}-text`}
              value={answering.place}
              state={answering.placeState}
              required={step.geo_required}
              onAsk={() => void answering.askPlace()}
            />
          )}
        </div>
      )}
      <footer class="step-foot">
        <StepState step={step} answer={answer} held={answering.problem} isChoosing={isChoosing} typing={typing} stuck={stuck.value} keeps={store.keeps.value} />
        <StepActions
          {...{ step, answer, skippable }}
          onCleared={focusControl}
          hasHeld={answering.problem !== null}
          onDrop={answering.drop}
        />
      </footer>
    </article>
  );
}

function textOf(problem: Problem): string {
  if (problem.code === "text" && problem.message) return problem.message;
  if (problem.code === "storage_full") return t("notice.storage_full");
  return problemText(translator.value, problem);
}

function Instruction({ step }: { step: Step }) {
  return (
    <article class="step is-instruction" aria-labelledby={`${step.id}-text`}>
      <p class="step-kind">{t("checklist.instruction")}</p>
      <h3 id={`${step.id}-label`} class="step-label" tabIndex={-1}>
        <span id={`${step.id}-text`} class="prose" dir="auto">
          {step.label}
        </span>
      </h3>
      {step.hint && (
        <p class="hint" dir="auto">
          {step.hint}
        </p>
      )}
    </article>
  );
}

interface StepActionsProps {
  step: Step;
  answer: LocalAnswer | undefined;
  skippable: boolean;
  hasHeld: boolean;
  onDrop(): void;
  onCleared(): void;
}

/** One button for skip, undo skip and clear, which stays the same element. */
function StepActions({ step, answer, skippable, hasHeld, onDrop, onCleared }: StepActionsProps) {
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
    await isKept(store.skip(step.id));
  };
  if (!given && !answer?.skipped && !skippable) return hasHeld ? null : <span class="no-action" />;
  const { label } = step;
  const text = answer?.skipped ? t("checklist.answer_after_all") : t(given ? "checklist.clear" : "checklist.skip");
  const name = answer?.skipped ? `${text}: ${label}` : given ? t("checklist.clear_label", { label }) : t("checklist.skip_label", { label });
  return (
    <>
      <button type="button" class="button button-quiet" aria-label={name} onClick={() => void act()}>
        {text}
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
