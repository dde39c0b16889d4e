/** The answers in the order of the checklist. Steps that do not apply are collapsed. */
import { useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import type { Geo } from "../../core/types";
import { Badge } from "../parts/badge";
import { CopyButton } from "../parts/copy";
import { Section } from "../parts/page_head";
import { Time } from "../parts/time";
import { nameOf } from "./run";
import { PhotoThumb, PhotoViewer, type ShownPhoto } from "./run_photos";
import { isOpen, type RunStory, type StorySection, type StoryStep } from "./runs_types";

export function RunAnswers({ story }: { story: RunStory }) {
  const photos = photosOf(story);
  const [shown, setShown] = useState<number | null>(null);
  const show = (url: string) => setShown(photos.findIndex((photo) => photo.url === url));
  return (
    <Section title="Answers">
      {story.sections.map((section) => (
        <Group key={section.id} section={section} story={story} onPhoto={show} />
      ))}
      {story.signature !== null ? (
        <div class="answer-group">
          <h3>Signature</h3>
          <div class="signature">
            {story.signature.url && <img class="signature-drawing" src={story.signature.url} alt={`Signature of ${story.signature.name}`} loading="lazy" />}
            <p>
              <span dir="auto">{story.signature.name}</span>, <Time at={story.signature.signed_at} as="local" />
            </p>
          </div>
        </div>
      ) : (
        story.signature_required &&
        story.status !== "completed" && (
          <div class="answer-group">
            <h3>Signature</h3>
            <p class="quiet">{isOpen(story.status) ? "Asked for when the checklist is submitted." : "Never given."}</p>
          </div>
        )
      )}
      {shown !== null && shown >= 0 && <PhotoViewer photos={photos} start={shown} onClose={() => setShown(null)} />}
    </Section>
  );
}

interface GroupProps {
  section: StorySection;
  story: RunStory;
  onPhoto(url: string): void;
}

function Group({ section, story, onPhoto }: GroupProps) {
  const applying = section.steps.filter((step) => step.state !== "not_applicable" && step.state !== "instruction");
  const others = section.steps.filter((step) => step.state === "not_applicable");
  if (applying.length + others.length === 0) return null;
  return (
    <div class="answer-group">
      <h3 dir="auto">{section.title}</h3>
      {applying.length > 0 && (
        <ul class="answers">
          {applying.map((step) => (
            <Step key={step.id} step={step} story={story} onPhoto={onPhoto} />
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <details class="not-applying">
          <summary>{others.length === 1 ? "1 step does not apply" : `${others.length} steps do not apply`}</summary>
          <p class="quiet small">Whether these steps apply depends on other answers.</p>
          <ul>
            {others.map((step) => (
              <li key={step.id} dir="auto">
                {step.label}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Step({ step, story, onPhoto }: { step: StoryStep; story: RunStory; onPhoto(url: string): void }) {
  const answer = story.answers[step.id];
  return (
    <li class="answer">
      <div class="answer-words">
        <p class="answer-label" dir="auto">
          {step.label}
        </p>
        {step.state === "skipped" ? (
          <p>
            <Badge icon="skip">Skipped</Badge>
          </p>
        ) : answer === undefined ? (
          <p class="quiet">{unanswered(step, story)}</p>
        ) : (
          <>
            {step.display !== null && step.display !== "" && (
              <p class="answer-value" dir="auto">
                {step.display}
              </p>
            )}
            {answer.flagged && (
              <p class="answer-flag">
                <Badge tone="warn" icon="flag">
                  Not as expected
                </Badge>
                {step.expected !== "" && (
                  <span class="small quiet">
                    Expected: <span dir="auto">{step.expected}</span>
                  </span>
                )}
              </p>
            )}
            {answer.note !== null && (
              <p class="answer-note" dir="auto">
                <span class="quiet">Note: </span>
                {answer.note}
              </p>
            )}
            <Drawing value={answer.value} label={step.label} />
            {answer.photos.length > 0 && (
              <ul class="photos" aria-label={`Photos: ${step.label}`}>
                {answer.photos.map((photo) => (
                  <li key={photo.sha256 + photo.photo_index}>
                    <PhotoThumb photo={photo} label={`Photo ${photo.photo_index + 1} of “${step.label}”`} onOpen={() => onPhoto(photo.url)} />
                  </li>
                ))}
              </ul>
            )}
            {answer.geo !== null ? <Place geo={answer.geo} /> : step.geo && <p class="quiet small">No location.</p>}
          </>
        )}
      </div>
      {step.state === "answered" && answer !== undefined && (
        <p class="answer-when small quiet">
          <Time at={answer.at} as="local" />
          {answer.received_at && answer.received_at !== answer.at && (
            <span>
              received <Time at={answer.received_at} as="local" />
            </span>
          )}
          {answer.by !== null && (
            <span>
              by <span dir="auto">{nameOf(story, answer.by)}</span>
            </span>
          )}
          {step.type !== "photo" && (step.revision ?? 1) > 1 && <span>{`answered ${step.revision} times`}</span>}
        </p>
      )}
    </li>
  );
}

function unanswered(step: StoryStep, story: RunStory): string {
  const kind = step.required ? "required" : "optional";
  return isOpen(story.status) ? `Not answered yet (${kind})` : `Not answered (${kind})`;
}

function Drawing({ value, label }: { value: unknown; label: string }) {
  const url = typeof value === "object" && value !== null && "url" in value ? value.url : null;
  return typeof url === "string" ? <img class="signature-drawing" src={url} alt={`Drawn signature: ${label}`} loading="lazy" /> : null;
}

/** Shows coordinates only: a map from another server would disclose where people are. */
function Place({ geo }: { geo: Geo }) {
  const coordinates = `${geo.lat.toFixed(5)}, ${geo.lng.toFixed(5)}`;
  return (
    <p class="place small">
      <Icon name="pin" />
      <span class="tabular">{coordinates}</span>
      <span class="quiet">{geo.accuracy_m === null ? "accuracy unknown" : `accurate to ${Math.round(geo.accuracy_m)} m`}</span>
      <CopyButton text={coordinates} label="Copy the coordinates" />
    </p>
  );
}

/** All photos, in page order. */
function photosOf(story: RunStory): readonly ShownPhoto[] {
  return story.sections.flatMap((section) =>
    section.steps.flatMap((step) =>
      step.state === "not_applicable" ? [] : (story.answers[step.id]?.photos ?? []).map((photo) => ({ ...photo, title: step.label })),
    ),
  );
}
