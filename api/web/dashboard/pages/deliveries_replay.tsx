/** Replaying many events: choose a filter, count the matches, then confirm number and endpoint. */
import { useEffect, useState } from "preact/hooks";

import "../styles/deliveries.css";
import { ApiError, call } from "../client";
import { serverNow } from "../clock";
import { Confirm } from "../parts/confirm";
import { DayFilter, dayEnd, dayStart, FilterBar, SelectFilter, TextFilter } from "../parts/filters";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { counted } from "../parts/progress";
import { Failure } from "../parts/states";
import { navigate, query } from "../router";
import { organization } from "../session";
import type { Replay } from "./deliveries_types";
import { EVENTS, filterText, OUTCOME_OPTIONS, refusalText } from "./deliveries_text";

const FILTERS = ["host", "event", "outcome", "run", "from", "until"] as const;
const POLL_MS = 400;

type Filter = Readonly<Record<string, string>>;

interface Counted {
  /** The filter of the count. */
  readonly filter: Filter;
  readonly replay: Replay;
}

export function ReplayManyPage() {
  const id = organization.value?.id ?? "";
  const filter = filterOf(query.value);
  const key = JSON.stringify(filter);
  const [counting, setCounting] = useState(false);
  const [found, setFound] = useState<{ key: string; counted: Counted } | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [asking, setAsking] = useState(false);
  const known = found?.key === key ? found.counted : null;
  useEffect(() => setError(null), [key]);

  const countThem = async () => {
    if (counting) return;
    setCounting(true);
    setError(null);
    try {
      // Events that fail after the count are excluded.
      const bounded = { finished_before: new Date(serverNow()).toISOString(), ...filter };
      setFound({ key, counted: { filter: bounded, replay: await count(id, bounded) } });
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
    } finally {
      setCounting(false);
    }
  };
  const replay = async (bounded: Filter) => {
    const made = await call<Replay>(`${id}/deliveries/replay`, { method: "POST", json: { filter: bounded } });
    navigate(`${id}/deliveries/replays/${made.replay_id}`);
  };
  const total = known?.replay.total ?? 0;
  const where = filter["host"] ?? "every endpoint";
  return (
    <>
      <PageHead title="Replay failed deliveries" trail={[{ to: `${id}/deliveries`, title: "Deliveries" }]}>
        <p>Failed events are sent once more, as fast as the endpoint accepts them. They are counted first; nothing is sent until you confirm the number.</p>
      </PageHead>
      <Section title="Filter">
        <FilterBar label="Choose what to replay" names={FILTERS}>
          <TextFilter name="host" label="Endpoint" placeholder="Every endpoint" />
          <SelectFilter name="event" label="Event" options={EVENTS} />
          <SelectFilter name="outcome" label="Last outcome" options={OUTCOME_OPTIONS.filter((option) => option.value !== "success")} />
          <TextFilter name="run" label="Run" placeholder="r-…" />
          <DayFilter name="from" label="Failed from" />
          <DayFilter name="until" label="Failed until" />
        </FilterBar>
        {error && <Failure error={error} />}
        {error?.problems.map((problem) => (
          <p key={problem.path} class="error">
            {`${problem.path.replace(/^filter\./, "")} ${problem.message}`}
          </p>
        ))}
        <div class="actions">
          <button type="button" class={known === null ? "button button-primary" : "button"} aria-disabled={counting} onClick={() => void countThem()}>
            {counting && <span class="spinner" />}
            {known === null ? "Count" : "Count again"}
          </button>
          <Link to={`${id}/deliveries?status=failed${filter["host"] ? `&host=${encodeURIComponent(filter["host"])}` : ""}`}>See the list</Link>
        </div>
      </Section>
      <div role="status">
        {known !== null && (
          <Section title={total === 0 ? "Nothing to replay" : counted(total, "failed delivery", "failed deliveries")}>
            <p>
              {total === 0 ? "There are no " : "These are all "}
              {filterText({ ...known.replay.filter, finished_before: filter["finished_before"] ?? null })}.
            </p>
            {known.replay.refusals.map((refusal) => (
              <p key={refusal.reason}>
                {counted(refusal.count, "of them cannot be sent", "of them cannot be sent")}: {refusalText(refusal.reason)}.
              </p>
            ))}
            {total > 0 && (
              <div class="actions">
                <button type="button" class="button button-primary" onClick={() => setAsking(true)}>
                  {`Replay ${counted(total, "delivery", "deliveries")}`}
                </button>
              </div>
            )}
          </Section>
        )}
      </div>
      {asking && known !== null && (
        <Confirm
          title={`Replay ${counted(total, "delivery", "deliveries")} to ${where}?`}
          act={`Send ${counted(total, "delivery", "deliveries")}`}
          harmless
          onConfirm={() => replay(known.filter)}
          onClose={() => setAsking(false)}
        >
          <p>
            {`${counted(total, "event is", "events are")} sent to ${where} again, each once and with the same `}
            <code>event_id</code> as before. You can stop in between; what was sent stays sent.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Runs a dry-run replay to its end. Throws ApiError. */
async function count(id: string, filter: Filter): Promise<Replay> {
  let replay = await call<Replay>(`${id}/deliveries/replay`, { method: "POST", json: { filter, dry_run: true } });
  while (replay.status === "pending" || replay.status === "running") {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    replay = await call<Replay>(`${id}/deliveries/replays/${replay.replay_id}`);
  }
  return replay;
}

function filterOf(given: URLSearchParams): Filter {
  const parts: Record<string, string> = {};
  const put = (name: string, value: string | null) => {
    if (value) parts[name] = value;
  };
  for (const name of ["host", "event", "outcome"]) put(name, given.get(name));
  put("run_id", given.get("run"));
  put("finished_after", dayStart(given.get("from")));
  put("finished_before", dayEnd(given.get("until")));
  return parts;
}
