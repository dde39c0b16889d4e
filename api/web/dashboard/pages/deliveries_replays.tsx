/** The list of replays of many events, and the progress of one. */
import { useEffect, useState } from "preact/hooks";

import "../styles/deliveries.css";
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { useLiveReload } from "../live";
import { Badge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { Pagination } from "../parts/pagination";
import { count, counted, Progress } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { duration, localTime, Time } from "../parts/time";
import { toast } from "../parts/toast";
import { query } from "../router";
import { may, organization } from "../session";
import { DeliveriesNav } from "./deliveries_nav";
import type { ListOf, Replay } from "./deliveries_types";
import { filterText, refusalText, ReplayBadge } from "./deliveries_text";
import type { PageProps } from "./index";

const POLL_MS = 1_000;

const COLUMNS: readonly Column<Replay>[] = [
  { key: "at", title: "Requested", cell: (replay) => <Time at={replay.requested_at} as="local" /> },
  { key: "status", title: "Status", cell: (replay) => (replay.dry_run ? <Badge>Count only</Badge> : <ReplayBadge replay={replay} />) },
  { key: "what", title: "What", cell: (replay) => <span class="replay-what">{filterText(replay.filter)}</span> },
  { key: "by", title: "By", cell: (replay) => <span dir="auto">{replay.requested_by ?? "–"}</span> },
  { key: "total", title: "Total", end: true, cell: (replay) => (replay.total === null ? "–" : count(replay.total)) },
  { key: "delivered", title: "Delivered", end: true, cell: (replay) => (replay.dry_run ? "–" : count(replay.delivered)) },
  { key: "failed", title: "Failed", end: true, cell: (replay) => (replay.dry_run ? "–" : count(replay.failed + replay.refused)) },
];

export function ReplaysPage() {
  const id = organization.value?.id ?? "";
  const page = Number(query.value.get("page")) || 1;
  const list = useResource<ListOf<Replay>>(`${id} ${page}`, (signal) => call(`${id}/deliveries/replays?page=${page}&per_page=50`, { signal }));
  useLiveReload(["replay"], list.reload);
  const found = list.data;
  return (
    <>
      <PageHead
        title="Replays"
        trail={[{ to: `${id}/deliveries`, title: "Deliveries" }]}
        actions={
          may("editor") && (
            <Link to={`${id}/deliveries/replay`} class="button">
              <Icon name="retake" />
              Replay failed deliveries
            </Link>
          )
        }
      />
      <DeliveriesNav />
      {list.error && <Failure error={list.error} onRetry={list.reload} />}
      {found === null ? (
        list.error === null && <Loading what="replays" />
      ) : found.pagination.total === 0 ? (
        <Empty title="No replays yet">
          <p>If an endpoint was down for longer than all retries, replay its failed events: filter by endpoint, event or day, confirm the number, and watch the progress. Replays are listed here for a week.</p>
        </Empty>
      ) : (
        <>
          <DataTable caption="Replays" columns={COLUMNS} rows={found.data} rowKey={(replay) => replay.replay_id} to={(replay) => `${id}/deliveries/replays/${replay.replay_id}`} />
          <Pagination pagination={found.pagination} label="Pages of replays" />
        </>
      )}
    </>
  );
}

export function ReplayPage({ params }: PageProps) {
  const id = organization.value?.id ?? "";
  const replayId = params["replay_id"] ?? "";
  const found = useResource<Replay>(`${id} ${replayId}`, (signal) => call(`${id}/deliveries/replays/${replayId}`, { signal }));
  const [stopped, setStopped] = useState<Replay | null>(null);
  const [asking, setAsking] = useState(false);
  const replay = stopped ?? found.data;
  const goesOn = stopped === null && (replay === null ? false : replay.status === "pending" || replay.status === "running");
  useLiveReload(["replay"], found.reload, (change) => stopped === null && change.id === replayId);
  useEffect(() => {
    if (!goesOn) return;
    const timer = setInterval(found.reload, POLL_MS);
    return () => clearInterval(timer);
  }, [goesOn, found.reload]);
  const trail = [
    { to: `${id}/deliveries`, title: "Deliveries" },
    { to: `${id}/deliveries/replays`, title: "Replays" },
  ];
  if (replay === null) {
    return (
      <>
        <PageHead title="Replay" trail={trail} />
        {found.error === null ? (
          <Loading what="the replay" />
        ) : found.error.status === 404 ? (
          <Empty title="Replay not found">
            <p>It was stopped, or ended more than a week ago. Each delivery lists all its attempts.</p>
          </Empty>
        ) : (
          <Failure error={found.error} onRetry={found.reload} />
        )}
      </>
    );
  }
  const stop = async () => {
    await call(`${id}/deliveries/replays/${replayId}`, { method: "DELETE" });
    setStopped(replay);
    toast(`Stopped after ${counted(replay.done, "delivery", "deliveries")}.`);
  };
  return (
    <>
      <PageHead
        title={replay.dry_run ? "Count of failed deliveries" : "Replay"}
        trail={trail}
        badge={stopped !== null ? <Badge tone="warn">Stopped</Badge> : <ReplayBadge replay={replay} />}
        actions={
          goesOn &&
          may("editor") && (
            <button type="button" class="button" onClick={() => setAsking(true)}>
              Stop
            </button>
          )
        }
      >
        <p>
          {`All ${filterText(replay.filter)}. `}
          Asked for {replay.requested_by !== null && <span dir="auto">{`by ${replay.requested_by} `}</span>}
          <Time at={replay.requested_at} as="local" />.
        </p>
      </PageHead>
      {found.error && stopped === null && <Failure error={found.error} onRetry={found.reload} />}
      <Section title={replay.dry_run ? "Count" : "Progress"}>
        {replay.dry_run ? <p>{replay.total === null ? "Counting …" : counted(replay.total, "failed delivery", "failed deliveries")}</p> : <Figures replay={replay} stopped={stopped !== null} />}
      </Section>
      {!goesOn && replay.failed > 0 && (
        <p>
          <Link to={`${id}/deliveries?status=failed${replay.filter.host === null ? "" : `&host=${encodeURIComponent(replay.filter.host)}`}`}>See failed deliveries</Link>
        </p>
      )}
      {asking && (
        <Confirm title="Stop this replay?" act="Stop" onConfirm={stop} onClose={() => setAsking(false)}>
          <p>Events that were sent stay sent. You can replay the others later. The replay is removed from the list.</p>
        </Confirm>
      )}
    </>
  );
}

function Figures({ replay, stopped }: { replay: Replay; stopped: boolean }) {
  const { total, done } = replay;
  const ended = replay.finished_at !== null && replay.started_at !== null;
  return (
    <>
      <Progress
        label={stopped ? "Stopped" : replay.status === "completed" ? "Done" : replay.status === "refused" ? "Rejected" : total === null ? "Counting" : "Sending"}
        value={done}
        max={total}
        text={total === null ? "not counted yet" : `${count(done)} of ${count(total)}`}
      />
      <dl class="figures">
        <div class="is-good">
          <dt>Delivered</dt>
          <dd>{count(replay.delivered)}</dd>
        </div>
        <div class={replay.failed > 0 ? "is-bad" : undefined}>
          <dt>Failed again</dt>
          <dd>{count(replay.failed)}</dd>
        </div>
        <div class={replay.refused > 0 ? "is-warn" : undefined}>
          <dt>Not sent</dt>
          <dd>{count(replay.refused)}</dd>
        </div>
      </dl>
      {replay.refusals.map((refusal) => (
        <p key={refusal.reason} class="quiet">
          {`${count(refusal.count)} not sent: ${refusalText(refusal.reason)}.`}
        </p>
      ))}
      <p class="vh" role="status">
        {replay.status === "completed" ? `The replay is done: ${count(replay.delivered)} delivered, ${count(replay.failed)} failed again.` : ""}
      </p>
      {ended && (
        <p class="quiet small">
          {`Finished ${localTime(replay.finished_at ?? "")}, after ${duration(Date.parse(replay.finished_at ?? "") - Date.parse(replay.started_at ?? ""))}.`}
        </p>
      )}
    </>
  );
}
