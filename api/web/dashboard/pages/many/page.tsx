/** Dispatches a run for each row of a table. Shows the form, or the job of this tab. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import "../../styles/runs.css";
import "../../styles/many.css";
import { counted } from "../../parts/progress";
import { query } from "../../router";
import { organization } from "../../session";
import { dispatching, restore } from "./dispatching";
import { ManyForm } from "./form";
import { JobView } from "./job_view";

export function DispatchManyPage() {
  const id = organization.value?.id ?? "";
  /** A finished job that makes room for a new one: the page was opened for a template. */
  const [aside, setAside] = useState<string | null>(null);
  useLayoutEffect(() => {
    restore(id);
    const kept = dispatching.peek();
    if (kept?.phase === "done" && query.peek().has("template")) setAside(kept.job.id);
  }, [id]);
  const shown = dispatching.value;
  const job = shown !== null && shown.job.organizationId === id ? shown : null;
  // The focused element disappears when the form is replaced by the job, and back.
  const before = useRef(job?.job.id);
  useEffect(() => {
    if (before.current !== job?.job.id) document.querySelector<HTMLElement>("main h1")?.focus();
    before.current = job?.job.id;
  }, [job?.job.id]);
  if (job !== null && job.phase === "done" && job.job.id === aside) {
    return (
      <ManyForm organizationId={id}>
        <div class="message is-info">
          <p class="message-text">
            {`“${job.job.templateName}” was dispatched to ${counted(job.job.rows.length, "row")} of the last table. `}
            <button type="button" class="link-button" onClick={() => setAside(null)}>
              Show its links
            </button>
          </p>
        </div>
      </ManyForm>
    );
  }
  return job === null ? <ManyForm organizationId={id} /> : <JobView key={job.job.id} shown={job} organizationId={id} />;
}
