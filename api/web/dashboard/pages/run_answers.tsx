/** An answer in the timeline of a run, and the steps without one. */
import { Badge } from "../parts/badge";
import { Section } from "../parts/page_head";
import { Time } from "../parts/time";
import { Place, type NumberedPlace } from "./run_map";
import { PhotoThumb } from "./run_photos";
import { unanswered } from "./run_timeline";
import { answeredSteps, isOpen, nameOf, type RunStory, type StoryAnswer, type StoryStep } from "./runs_types";

/** The answers that are not as expected, before the timeline. */
export function FlaggedAnswers({ story }: { story: RunStory }) {
  const found = answeredSteps(story).filter(({ answer }) => answer.flagged);
  if (found.length === 0) return null;
  return (
    <Section title="Not as expected">
      <ul class="flagged-answers">
        {found.map(({ step, answer }) => (
          <li key={step.id}>
            <span dir="auto">{step.label}</span>: <strong dir="auto">{step.display}</strong>
            {step.expected !== "" && (
              <span class="quiet">
                {" "}
                (expected: <span dir="auto">{step.expected}</span>)
              </span>
            )}
            {answer.note !== null && (
              <span class="quiet" dir="auto">
                {" "}
                {`“${answer.note}”`}
              </span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface AnswerProps {
  step: StoryStep;
  answer: StoryAnswer;
  section: string;
  story: RunStory;
  place: NumberedPlace | undefined;
  onPhoto(url: string): void;
}

export function AnswerItem({ step, answer, section, story, place, onPhoto }: AnswerProps) {
  return (
    <div class="answer">
      <div class="answer-words">
        <p class="answer-label" dir="auto">
          {step.label}
        </p>
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
          <ul class="photo-strip" aria-label={`Photos: ${step.label}`}>
            {answer.photos.map((photo) => (
              <li key={photo.sha256 + photo.photo_index}>
                <PhotoThumb photo={photo} label={`Photo ${photo.photo_index + 1} of “${step.label}”`} onOpen={() => onPhoto(photo.url)} />
              </li>
            ))}
          </ul>
        )}
        {answer.geo !== null ? <Place geo={answer.geo} number={place?.number} /> : step.geo && <p class="quiet small">No location.</p>}
      </div>
      <p class="answer-when small quiet">
        <Time at={answer.at} as="second" />
        {story.sections.length > 1 && <span dir="auto">{section}</span>}
        {answer.received_at && answer.received_at !== answer.at && (
          <span>
            received <Time at={answer.received_at} as="second" />
          </span>
        )}
        {answer.by !== null && (
          <span>
            by <span dir="auto">{nameOf(story, answer.by)}</span>
          </span>
        )}
        {step.type !== "photo" && (step.revision ?? 1) > 1 && <span>{`answered ${step.revision} times`}</span>}
      </p>
    </div>
  );
}

function Drawing({ value, label }: { value: unknown; label: string }) {
  const url = typeof value === "object" && value !== null && "url" in value ? value.url : null;
  return typeof url === "string" ? <img class="signature-drawing" src={url} alt={`Drawn signature: ${label}`} loading="lazy" /> : null;
}

/** Steps without an answer, in the order of the checklist. Steps that do not apply are folded. */
export function Unanswered({ story }: { story: RunStory }) {
  const groups = unanswered(story);
  const signature = story.signature === null && story.signature_required && story.status !== "completed";
  if (groups.length === 0 && !signature) return null;
  return (
    <Section title="Without an answer">
      {groups.map(({ title, steps }) => (
        <Group key={title} title={title} steps={steps} story={story} />
      ))}
      {signature && (
        <div class="answer-group">
          <h3>Signature</h3>
          <p class="quiet">{isOpen(story.status) ? "Asked for when the checklist is submitted." : "Never given."}</p>
        </div>
      )}
    </Section>
  );
}

function Group({ title, steps, story }: { title: string; steps: readonly StoryStep[]; story: RunStory }) {
  const applying = steps.filter((step) => step.state !== "not_applicable");
  const others = steps.filter((step) => step.state === "not_applicable");
  return (
    <div class="answer-group">
      <h3 dir="auto">{title}</h3>
      {applying.length > 0 && (
        <ul class="answers">
          {applying.map((step) => (
            <li key={step.id} class="answer is-missing">
              <span class="answer-label" dir="auto">
                {step.label}
              </span>
              {step.state === "skipped" ? <Badge icon="skip">Skipped</Badge> : <span class="quiet">{missingText(step, story)}</span>}
            </li>
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

function missingText(step: StoryStep, story: RunStory): string {
  const kind = step.required ? "required" : "optional";
  return isOpen(story.status) ? `Not answered yet (${kind})` : `Not answered (${kind})`;
}
