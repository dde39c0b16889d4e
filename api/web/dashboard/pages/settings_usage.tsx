/** Settings, usage: runs of the month against the plan's limit, and runs per day. */
import { useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { useLiveReload } from "../live";
import { PageHead, Section } from "../parts/page_head";
import { count, counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Failure, Loading } from "../parts/states";
import { DataTable } from "../parts/table";
import { Time } from "../parts/time";
import { organization } from "../session";

import "../styles/settings.css";

interface Day {
  /** 2026-11-21, in UTC. */
  readonly day: string;
  readonly used: number;
}

interface Usage {
  readonly limit: number | null;
  readonly used: number;
  readonly resets_at: string;
  readonly period: string;
  readonly plan: string;
  readonly by_day: readonly Day[];
  readonly limit_reached: { readonly error: string; readonly message: string; readonly details: unknown } | null;
}

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
const NEARLY = 0.8;

export function UsagePage() {
  const own = organization.value?.id ?? "";
  const usage = useResource<Usage>(own, (signal) => call(`${own}/usage`, { signal }));
  useLiveReload(["run"], usage.reload);
  const { data } = usage;
  return (
    <>
      <PageHead
        title="Usage"
        actions={
          <button type="button" class="button" aria-disabled={usage.loading} onClick={usage.reload}>
            <Icon name="retake" />
            Refresh
          </button>
        }
      >
        <p>Every run dispatched in a month counts, including cancelled ones. Months are in UTC.</p>
      </PageHead>
      {usage.error && <Failure error={usage.error} onRetry={usage.reload} />}
      {data === null && usage.loading && <Loading what="the usage" />}
      {data && (
        <>
          {data.limit_reached && <LimitReached error={data.limit_reached} resetsAt={data.resets_at} />}
          <Month usage={data} />
          <ByDay days={data.by_day} />
        </>
      )}
    </>
  );
}

function LimitReached({ error, resetsAt }: { error: NonNullable<Usage["limit_reached"]>; resetsAt: string }) {
  return (
    <div class="message is-bad" role="alert">
      <Icon name="alert" />
      <div class="message-text">
        <p class="message-title">{error.message}</p>
        <p>
          No run can be dispatched until <Time at={resetsAt} as="local" />. API requests get status 402:
        </p>
        <pre class="mono wrapped" tabIndex={0} role="group" aria-label="The API’s error response">
          {JSON.stringify({ error: error.error, message: error.message, details: error.details })}
        </pre>
      </div>
    </div>
  );
}

function Month({ usage: { used, limit, period, plan, resets_at } }: { usage: Usage }) {
  const left = limit === null ? null : Math.max(0, limit - used);
  const tone = limit === null || used < limit * NEARLY ? "" : used < limit ? "is-warn" : "is-bad";
  return (
    <Section title={`Runs in ${MONTH.format(new Date(`${period}-01T00:00:00Z`))}`}>
      <p class="usage-number tabular">
        <strong>{count(used)}</strong> {limit === null ? "without a limit" : `of ${count(limit)}`}
      </p>
      {limit !== null && <progress class={`quota ${tone}`} aria-label="Runs used of the month’s limit" max={Math.max(1, limit)} value={Math.min(used, limit)} />}
      <dl class="facts">
        <dt>Plan</dt>
        <dd dir="auto">{plan}</dd>
        {left !== null && (
          <>
            <dt>Left</dt>
            <dd>{counted(left, "run")}</dd>
          </>
        )}
        <dt>Resets</dt>
        <dd>
          <Time at={resets_at} as="local" />
        </dd>
      </dl>
    </Section>
  );
}

/** A bar chart, and the same numbers as a table for exact values and screen readers. */
function ByDay({ days }: { days: readonly Day[] }) {
  const [asTable, setAsTable] = useState(false);
  const most = Math.max(1, ...days.map((day) => day.used));
  const top = niceCeiling(most);
  const busiest = days.reduce<Day | null>((best, day) => (best === null || day.used > best.used ? day : best), null);
  const summary = busiest === null || busiest.used === 0 ? "No run was dispatched on any day so far." : `The most on one day: ${counted(busiest.used, "run")}, on ${named(busiest.day)}.`;
  return (
    <Section
      title="By day"
      lead={summary}
      actions={
        <button type="button" class="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          Show as a table
        </button>
      }
    >
      {asTable ? (
        <DataTable
          caption="Runs by day"
          columns={[
            { key: "day", title: "Day (UTC)", cell: (day: Day) => named(day.day) },
            { key: "used", title: "Runs dispatched", cell: (day: Day) => count(day.used), end: true },
          ]}
          rows={days.toReversed()}
          rowKey={(day) => day.day}
        />
      ) : (
        <div class="bars" role="img" aria-label={`Bar chart of runs by day. ${summary} The button above shows the numbers as a table.`}>
          <div class="bars-scale small quiet tabular" aria-hidden="true">
            <span>{count(top)}</span>
            <span>0</span>
          </div>
          <div class="bars-days">
            {days.map((day) => (
              <div key={day.day} class="bar-day" title={`${named(day.day)}: ${counted(day.used, "run")}`}>
                <div class="bar-box">
                  <div class="bar-fill" style={{ blockSize: `${(100 * day.used) / top}%` }} />
                </div>
                <span class="bar-label quiet tabular">{Number(day.day.slice(-2))}</span>
              </div>
            ))}
          </div>
        </div>
      )}
    </Section>
  );
}

function named(day: string): string {
  return DAY.format(new Date(`${day}T00:00:00Z`));
}

/** The end of the scale: 1, 2, 5, 10, 20, 50 ... */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}
