/** Dispatches a run for each row of a table. Shows the form, or the job of this tab. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import "../../styles/runs.css";
import "../../styles/many.css";
import { organization } from "../../session";
import { dispatching, restore } from "./dispatching";
import { ManyForm } from "./form";
import { JobView } from "./job_view";

export function DispatchManyPage() {
  const id = organization.value?.id ?? "";
  useLayoutEffect(() => restore(id), [id]);
  const shown = dispatching.value;
  const job = shown !== null && shown.job.organizationId === id ? shown : null;
  // The focused element disappears when the form is replaced by the job, and back.
  const before = useRef(job?.job.id);
  useEffect(() => {
    if (before.current !== job?.job.id) document.querySelector<HTMLElement>("main h1")?.focus();
    before.current = job?.job.id;
  }, [job?.job.id]);
  return job === null ? <ManyForm organizationId={id} /> : <JobView key={job.job.id} shown={job} organizationId={id} />;
}
