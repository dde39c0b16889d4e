import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";

import { kindOf, canSkip, photosFor, type Problem, type Step } from "../../core";
import { ids } from "../../kit/controls/control";
import { LocationControl } from "../../kit/controls/location";
import { FieldError } from "../../kit/controls/messages";
import { PhotoControl } from "../../kit/controls/photo";
import { useAfterPress } from "../../kit/controls/press";
import { problemText } from "../../kit/i18n";
import { t, translator } from "../../kit/language";
import { type Given, useAnswering, useStillChoosing } from "../answering";
import { isKept, useApp } from "../context";
import { fieldOf } from "../page";
import { signerOf } from "../signer";
import { isRefused, withoutRefused } from "../store/refused_photos";
import type { LocalAnswer } from "../store/types";
import { AnswerControl } from "./answer_control";
import { FlaggedAnswer } from "./flagged_answer";
import { StepActions } from "./step_actions";
import { stepHints } from "./step_hints";
import { openPart, StepState, statusOf } from "./step_state";

const NO_PHOTOS: LocalAnswer["photos"] = [];

interface StepBodyProps {
  step: Step;
  onGiven?: Given;
  onSkipped?: () => void;
}

/** The card of a step: question, controls, and the status in a corner. */
export function StepBody({ step, onGiven, onSkipped }: StepBodyProps) {
  const { store, page } = useApp();
  const { id } = step;
  const kept = useComputed(() => store.answers.value.get(step.id));
  const stuck = useComputed(() => store.sync.value.state === "offline" || store.sync.value.state === "attention");
  const isGap = useComputed(() => page.tried.value && store.missing.value.includes(step.id));
  const skippable = useComputed(() => store.run.value !== null && canSkip(store.run.value.template, step)).value;
  const signer = useComputed(() => signerOf(store.run.value)).value;
  const answering = useAnswering(step, kept, onGiven);
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
  const found = rejected ?? answer?.problem ?? (isGap.value ? openPart(step, counted) : null);
  const current = statusOf({ step, answer, held: answering.problem, isChoosing, typing, stuck: stuck.value, keeps: store.keeps.value });
  const { problem, status, judged } = useAfterPress({ problem: found, status: current, judged: answer });
  const hints = stepHints(step);
  const hintId = hints.length > 0 && `${id}-hint`;
  const errorId = problem !== null && `${id}-error`;
  const wiring = { labelledBy: `${id}-text`, describedBy: ids(hintId, errorId) };

  const focusControl = () => requestAnimationFrame(() => fieldOf(card.current)?.focus());
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
        <div class="step-corner">
          {status?.isQuiet && <StepState status={status} />}
          <StepActions {...{ step, answer, skippable, onSkipped }} onCleared={focusControl} onDrop={answering.drop} />
        </div>
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
            signer={signer}
            required={step.required}
            invalid={problem !== null && !["photo", "geo", "note"].includes(problem.path)}
            now={() => store.now()}
            onDraw={draw}
            onTyping={setTyping}
          />
          <FlaggedAnswer step={step} answer={judged} answering={answering} errorId={problem?.path === "note" && errorId} onTyping={setTyping} />
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
      {status && !status.isQuiet && <StepState status={status} />}
    </article>
  );
}

export function textOf(problem: Problem): string {
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
