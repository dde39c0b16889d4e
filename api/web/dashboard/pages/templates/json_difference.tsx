/** The difference of two templates line by line, with context. */
import { useMemo } from "preact/hooks";

import { lineDifference } from "../../../core/authoring";

export function JsonDifference({ before, after }: { before: object; after: object }) {
  const blocks = useMemo(() => lineDifference(JSON.stringify(before, null, 2), JSON.stringify(after, null, 2)), [before, after]);
  if (blocks.length === 0) return <p class="quiet">No differences.</p>;
  return (
    <div class="json-difference mono" role="group" aria-label="Difference as JSON" tabIndex={0}>
      {blocks.map((block, index) => (
        <div key={index} class="json-block">
          {block.map((line, at) => (
            <div key={at} class={`json-line is-${line.kind}`}>
              <span aria-hidden="true">{{ same: " ", added: "+", removed: "−" }[line.kind]} </span>
              {line.kind !== "same" && <span class="vh">{line.kind}: </span>}
              {line.text}
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
