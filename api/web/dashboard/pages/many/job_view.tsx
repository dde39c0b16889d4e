/** A job: its progress, what went wrong, and the links. */
import { useState } from "preact/hooks";

import { Message } from "../../../kit/controls/messages";
import { now } from "../../clock";
import { Confirm } from "../../parts/confirm";
import { TextField } from "../../parts/fields";
import { Link } from "../../parts/link";
import { PageHead, Section } from "../../parts/page_head";
import { count, counted, Progress } from "../../parts/progress";
import { Failure } from "../../parts/states";
import { discard, type Dispatching, isDispatched, proceed, secretOf, stop, tryNow } from "./dispatching";
import { isTooOld, needsSecret } from "./kept_job";
import { Links } from "./links";

const TITLES: Readonly<Record<Dispatching["phase"], string>> = { running: "Dispatching many runs", stopped: "Dispatch of many runs, stopped", done: "The runs are dispatched" };
const SHOWN_REFUSALS = 20;
const QUOTA = new Set(["quota_exceeded", "limit_reached"]);

export function JobView({ shown, organizationId }: { shown: Dispatching; organizationId: string }) {
  const { job, results, phase } = shown;
  const [forgetting, setForgetting] = useState(false);
  const dispatched = [...results.values()].filter(isDispatched).length;
  return (
    <>
      <PageHead title={TITLES[phase]} trail={[{ to: `${organizationId}/runs`, title: "Runs" }]}>
        <p dir="auto">{`“${job.templateName}”, ${counted(job.rows.length, "row")}`}</p>
      </PageHead>
      <Section title="Progress">
        <Progress label="Dispatched" value={dispatched} max={job.rows.length} />
        <State shown={shown} organizationId={organizationId} left={job.rows.length - dispatched} />
        <Refused shown={shown} />
        {phase !== "running" && (
          <div class="actions">
            {phase === "done" && (
              <Link to={`${organizationId}/runs`} class="button button-primary">
                See the runs
              </Link>
            )}
            <button type="button" class="button" onClick={() => setForgetting(true)}>
              New table
            </button>
          </div>
        )}
      </Section>
      {dispatched > 0 && phase !== "running" && <Links job={job} results={results} organizationId={organizationId} />}
      {forgetting && (
        <Confirm
          title="Close this table?"
          act="Close the table"
          harmless
          onConfirm={() => Promise.resolve(discard())}
          onClose={() => setForgetting(false)}
        >
          <p>Save the links first if you need them together. Each link stays on the page of its run.</p>
          {phase === "stopped" && <p>{`${counted(job.rows.length - dispatched, "row")} without a run will not be dispatched.`}</p>}
        </Confirm>
      )}
    </>
  );
}

function State({ shown, organizationId, left }: { shown: Dispatching; organizationId: string; left: number }) {
  const { job, phase, waiting, error } = shown;
  const needed = needsSecret(job) && secretOf(job) === null;
  const [secret, setSecret] = useState("");
  if (phase === "done") return <p role="status">Every row has its run.</p>;
  if (phase === "running") {
    return (
      <>
        <div role="status">
          {waiting === null ? (
            <p class="quiet">You can use other pages of the dashboard meanwhile. Keep this tab open.</p>
          ) : (
            <Message tone="warn" title={waiting}>
              <p>It goes on by itself, and no row is dispatched twice.</p>
            </Message>
          )}
        </div>
        <div class="actions">
          {waiting !== null && (
            <button type="button" class="button" onClick={tryNow}>
              Try now
            </button>
          )}
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        </div>
      </>
    );
  }
  if (isTooOld(job, now.value)) {
    return (
      <Message tone="warn" title="This job began more than 23 hours ago and cannot be continued.">
        <p>A row that was being sent could get a second run. Save the links as CSV, and dispatch the rows that have none as a new table.</p>
      </Message>
    );
  }
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        proceed(needed ? secret : (secretOf(job) ?? ""));
      }}
    >
      {error !== null &&
        (QUOTA.has(error.code) ? (
          <div role="alert">
            <Message tone="warn" title={error.message}>
              <p>
                {`${counted(left, "row")} ${left === 1 ? "is" : "are"} left. What is dispatched is kept. `}
                <Link to={`${organizationId}/settings/usage`}>See the usage</Link>
              </p>
            </Message>
          </div>
        ) : (
          <Failure error={error} />
        ))}
      {needed && <TextField name="secret" label="Secret of the webhook" hint="It is not kept when the page is reloaded. Enter the same one." autocomplete="off" value={secret} onInput={setSecret} />}
      <div class="actions">
        <button type="submit" class="button button-primary" aria-disabled={needed && secret === ""}>
          {`Continue with ${count(left)} ${left === 1 ? "row" : "rows"}`}
        </button>
      </div>
    </form>
  );
}

function Refused({ shown: { job, results } }: { shown: Dispatching }) {
  const refused = job.rows.flatMap((row) => {
    const result = results.get(row.number);
    return result === undefined || isDispatched(result) ? [] : [{ row, error: result.error }];
  });
  if (refused.length === 0) return null;
  return (
    <Message tone="bad" title={`The service refused ${counted(refused.length, "row")}`}>
      <ul class="prose-list">
        {refused.slice(0, SHOWN_REFUSALS).map(({ row, error }) => (
          <li key={row.number}>
            {`Row ${row.number}${row.reference === "" ? "" : `, ${row.reference}`}: ${error}`}
          </li>
        ))}
      </ul>
      {refused.length > SHOWN_REFUSALS && <p>The file of links has all of them.</p>}
    </Message>
  );
}
