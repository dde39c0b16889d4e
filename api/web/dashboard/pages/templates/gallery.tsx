/** The shipped example templates, to begin from. Their texts are loaded when the gallery is shown. */
import { useEffect, useState } from "preact/hooks";

import { asDraft, countSteps, type Draft } from "../../../core/authoring";
import { counted } from "../../parts/progress";

export interface Example {
  readonly key: string;
  readonly draft: Draft;
}

/** Examples that are no templates are left out; the tests verify that there are none. */
export function examplesOf(texts: Readonly<Record<string, unknown>>): readonly Example[] {
  return Object.entries(texts).flatMap(([key, text]) => {
    const draft = asDraft(text);
    return draft === null ? [] : [{ key, draft }];
  });
}

export function Gallery({ onChoose }: { onChoose(draft: Draft): void }) {
  const [examples, setExamples] = useState<readonly Example[] | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./gallery.json").then(
      (file) => setExamples(examplesOf(file.default)),
      () => setFailed(true),
    );
  }, []);
  if (failed) return <p role="alert">The examples could not be loaded. Reload the page.</p>;
  if (examples === null) return <p class="quiet">Loading examples …</p>;
  return (
    <ul class="gallery">
      {examples.map(({ key, draft }) => (
        <li key={key} class="gallery-item">
          <h3>{draft.name}</h3>
          <p class="quiet small gallery-text">{draft.description}</p>
          <div class="gallery-foot">
            <span class="quiet small tabular">{counted(countSteps(draft), "step")}</span>
            <button type="button" class="button" onClick={() => onChoose(draft)}>
              Use<span class="vh"> the example {draft.name}</span>
            </button>
          </div>
        </li>
      ))}
    </ul>
  );
}
