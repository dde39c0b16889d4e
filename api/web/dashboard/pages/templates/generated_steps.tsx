/** The steps of a generated template with types, conditions and confidence. */
import { useMemo } from "preact/hooks";

import type { StepOrigin } from "../../../core";
import { AUTHORING, allSteps, conditionText, type Draft, type DraftStep } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { Badge } from "../../parts/badge";
import { showPiece, stepAnchor, whilePointed, type Pointing, type SideProps } from "./generated_pointing";
import { memo } from "./memo";

const PERCENT = new Intl.NumberFormat("en", { style: "percent" });

export function GeneratedSteps({ draft, origins, lit, pointing }: SideProps & { draft: Draft }) {
  const steps = useMemo(() => new Map(allSteps(draft).map((step) => [step.id, step])), [draft]);
  let position = 0;
  return (
    <section class="section review-steps" aria-label="Steps">
      <h2 dir="auto">{draft.name}</h2>
      {draft.sections.map((section) => {
        const first = position;
        position += section.steps.length;
        return (
          <div key={section.id} class="review-section">
            <h3 dir="auto">{section.title}</h3>
            <ol class="rows" role="list">
              {section.steps.map((step, index) => (
                <Row
                  key={step.id}
                  step={step}
                  number={first + index + 1}
                  origin={origins.get(step.id)}
                  shownWhen={step.condition ? conditionText(step.condition.when, steps) : ""}
                  isLit={lit.has(step.id)}
                  pointing={pointing}
                />
              ))}
            </ol>
          </div>
        );
      })}
    </section>
  );
}

interface RowProps {
  step: DraftStep;
  number: number;
  origin: StepOrigin | undefined;
  /** The condition as text; "" means always. */
  shownWhen: string;
  isLit: boolean;
  pointing: Pointing;
}

const Row = memo(function Row({ step, number, origin, shownWhen, isLit, pointing }: RowProps) {
  const about = `${stepAnchor(step.id)}-about`;
  const source = origin?.source ?? null;
  const label = (
    <>
      <span class="tabular">{number}.</span> <bdi>{step.label}</bdi>
    </>
  );
  return (
    <li class={`row review-row${origin?.unsure ? " is-unsure" : ""}${isLit ? " is-lit" : ""}`} {...(source === null ? {} : whilePointed(pointing, [step.id]))}>
      <Icon name={AUTHORING[step.type].icon} />
      <div class="row-text">
        {source === null ? (
          <p class="row-label" id={stepAnchor(step.id)} tabIndex={-1}>
            {label}
          </p>
        ) : (
          <button type="button" class="row-label row-link" id={stepAnchor(step.id)} aria-describedby={about} onClick={() => showPiece(step.id, pointing)}>
            {label}
          </button>
        )}
        <div id={about} class="small">
          <p class="row-facts quiet">
            <span>{kindOf(step)}</span>
            <span>{step.required ? "required" : "optional"}</span>
            {step.photo && <span>photos</span>}
            {step.geo && <span>location</span>}
          </p>
          {step.hint && (
            <p class="quiet" dir="auto">
              {step.hint}
            </p>
          )}
          {shownWhen !== "" && <p class="row-when">Shown when {shownWhen}</p>}
          {origin !== undefined && origin.confidence !== null && (
            <p class="row-origin">
              {origin.unsure && <Badge tone="warn">Unsure, {PERCENT.format(origin.confidence)} sure</Badge>}
              {!origin.unsure && source !== null && <span class="quiet">{PERCENT.format(origin.confidence)} sure</span>}
              <span class="quiet">{source === null ? "from the library" : <>from “<bdi>{source.text}</bdi>”</>}</span>
            </p>
          )}
        </div>
      </div>
    </li>
  );
});

/** The type and its options. */
function kindOf({ type, config }: DraftStep): string {
  const name = AUTHORING[type].name;
  if (config?.options?.length) return `${name}: ${config.options.map(({ label }) => label).join(", ")}`;
  if (config?.unit) return `${name} in ${config.unit}`;
  if (type === "boolean" && config?.true_label && config.false_label) return `${name}: ${config.true_label}, ${config.false_label}`;
  return name;
}
