/** Review of a generated template: the prompt and the steps side by side. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { promptPieces, type PromptPiece } from "../../../core/authoring";
import { Icon } from "../../../kit/controls/icon";
import { Badge } from "../../parts/badge";
import { PageHead } from "../../parts/page_head";
import { counted } from "../../parts/progress";
import { useUnsaved } from "../../parts/unsaved";
import { NONE, goTo, pieceAnchor, showWithin, stepAnchor, whilePointed, type SideProps } from "./generated_pointing";
import { GeneratedSteps } from "./generated_steps";
import type { Generated } from "./templates_api";

interface ReviewProps {
  org: string;
  made: Generated;
  onUse(): void;
  onChange(): void;
}

export function GeneratedReview({ org, made, onUse, onChange }: ReviewProps) {
  const [hovered, hover] = useState(NONE);
  const [focused, focus] = useState(NONE);
  const lit = useMemo(() => new Set(hovered.length > 0 ? hovered : focused), [hovered, focused]);
  const pointing = useMemo(() => ({ hover, focus }), []);
  const summary = useRef<HTMLDivElement>(null);
  const origins = useMemo(() => new Map(made.origins.map((origin) => [origin.step_id, origin])), [made]);
  const firstUnsure = made.origins.find(({ unsure }) => unsure)?.step_id;
  useUnsaved(true, "the generated template");
  useEffect(() => {
    scrollTo(0, 0);
    summary.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="review">
      <PageHead title="Review the template" trail={[{ to: `${org}/templates`, title: "Templates" }]} badge={<Badge>Not saved yet</Badge>} />
      <div class="editor-bar">
        <button type="button" class="button" onClick={onChange}>
          Change the prompt
        </button>
        <button type="button" class="button button-primary" onClick={onUse}>
          Use this template
        </button>
      </div>
      <div ref={summary} tabIndex={-1} class={`message ${firstUnsure === undefined ? "is-info" : "is-warn"} review-summary`}>
        <Icon name={firstUnsure === undefined ? "info" : "alert"} />
        <div class="message-text">
          <Summary made={made} />
          <p class="small">
            Made by <code>{made.by || "the service"}</code>. You can change it in the editor before you save it.
          </p>
          {firstUnsure !== undefined && (
            <div class="actions">
              <button type="button" class="button" onClick={() => goTo(stepAnchor(firstUnsure))}>
                Go to the first unsure step
              </button>
            </div>
          )}
        </div>
      </div>
      <Legend made={made} />
      <div class="review-columns">
        <Prompt made={made} origins={origins} lit={lit} pointing={pointing} />
        <GeneratedSteps draft={made.draft} origins={origins} lit={lit} pointing={pointing} />
      </div>
    </div>
  );
}

/** A language model does not report the origin or the confidence of a step. */
function isExplained({ origins }: Generated): boolean {
  return origins.some(({ confidence }) => confidence !== null);
}

function Summary({ made }: { made: Generated }) {
  const { origins, unused } = made;
  if (!isExplained(made)) {
    return (
      <>
        <p class="message-title">{counted(origins.length, "step")}; where they came from is not known</p>
        <p>A language model made this template. It does not report where a step came from or how sure it is, so compare the steps with your prompt.</p>
      </>
    );
  }
  const unsure = origins.filter((origin) => origin.unsure).length;
  const steps = unsure === 0 ? `None of ${counted(origins.length, "step")} is unsure` : `${unsure} of ${counted(origins.length, "step")} ${unsure === 1 ? "is" : "are"} unsure`;
  const parts = unused.length === 0 ? "no part of the prompt was left out" : `${counted(unused.length, "part")} of the prompt ${unused.length === 1 ? "was" : "were"} not used`;
  return (
    <>
      <p class="message-title">
        {steps}, {parts}
      </p>
      {unsure > 0 && <p>Check the type and the condition of each unsure step.</p>}
      {origins.every(({ source }) => source === null) && <p>Your prompt names a checklist of the library, so the steps are those of the library.</p>}
    </>
  );
}

function Prompt({ made, origins, lit, pointing }: SideProps & { made: Generated }) {
  const text = useRef<HTMLDivElement>(null);
  const pieces = useMemo(() => promptPieces(made.prompt, made.origins, made.unused), [made]);
  const numbers = useMemo(() => new Map(made.origins.map(({ step_id }, index) => [step_id, index + 1])), [made]);
  const isUnsure = (piece: PromptPiece) => piece.steps.some((id) => origins.get(id)?.unsure);
  useEffect(() => showWithin(text.current, text.current?.querySelector(".is-lit")), [lit]);
  const first = new Map<string, number>();
  pieces.forEach(({ steps }, index) => steps.forEach((id) => first.has(id) || first.set(id, index)));
  return (
    <details class="section review-prompt" open>
      <summary>
        <h2>Your prompt</h2>
      </summary>
      <div ref={text} class="prompt-text" dir="auto" role="group" tabIndex={0} aria-label="The prompt with its parts">
        {pieces.map((piece, index) =>
          piece.steps.length > 0 ? (
            <span
              key={index}
              id={pieceAnchor(index)}
              role="button"
              tabIndex={0}
              class={`piece is-used${isUnsure(piece) ? " is-unsure" : ""}${piece.steps.some((id) => lit.has(id)) ? " is-lit" : ""}`}
              data-piece-of={piece.steps.filter((id) => first.get(id) === index).join(" ")}
              data-numbers={`${piece.steps.map((id) => numbers.get(id)).join(", ")}${isUnsure(piece) ? "?" : ""}`}
              aria-describedby={piece.steps.map(stepAnchor).join(" ")}
              {...whilePointed(pointing, piece.steps)}
              onClick={() => goTo(stepAnchor(piece.steps[0] ?? ""))}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                event.currentTarget.click();
              }}
            >
              {piece.text}
            </span>
          ) : piece.unused ? (
            <span key={index} class="piece is-unused">
              <span class="vh">not used: </span>
              {piece.text}
            </span>
          ) : (
            piece.text
          ),
        )}
      </div>
    </details>
  );
}

/** Legend of the marks that are used. */
function Legend({ made }: { made: Generated }) {
  const sources = made.origins.filter(({ source }) => source !== null);
  const [used, unsure, unused] = [sources.length > 0, sources.some((origin) => origin.unsure), made.unused.length > 0];
  if (!used && !unused) return null;
  return (
    <ul class="legend small" aria-label="What the marks mean">
      {used && (
        <li>
          <span class="piece is-used" data-numbers="1" aria-hidden="true">
            words
          </span>
          became the step of this number
        </li>
      )}
      {unsure && (
        <li>
          <span class="piece is-used is-unsure" data-numbers="1?" aria-hidden="true">
            words
          </span>
          became an unsure step
        </li>
      )}
      {unused && (
        <li>
          <span class="piece is-unused" aria-hidden="true">
            words
          </span>
          were not used
        </li>
      )}
      <li>
        <span class="piece" aria-hidden="true">
          words
        </span>
        say more about a step, or about the whole
      </li>
    </ul>
  );
}
