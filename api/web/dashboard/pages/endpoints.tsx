/** Success rate, latency and last error of each endpoint. */
import "../styles/deliveries.css";
import { call } from "../client";
import { useLiveReload } from "../live";
import { FilterBar, SelectFilter } from "../parts/filters";
import { Link } from "../parts/link";
import { PageHead } from "../parts/page_head";
import { Pagination } from "../parts/pagination";
import { count, counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { duration, localTime, Time } from "../parts/time";
import { query } from "../router";
import { may, organization } from "../session";
import { DeliveriesNav } from "./deliveries_nav";
import type { Endpoint, ListOf } from "./deliveries_types";
import { outcomeText } from "./deliveries_text";

const DEFAULT_HOURS = "24";
const WINDOWS = [
  { value: "1", title: "The last hour" },
  { value: "168", title: "The last 7 days" },
  { value: "744", title: "The last 31 days" },
];

interface Endpoints extends ListOf<Endpoint> {
  readonly since: string;
}

export function EndpointsPage() {
  const id = organization.value?.id ?? "";
  const page = Number(query.value.get("page")) || 1;
  const hours = query.value.get("hours") ?? DEFAULT_HOURS;
  const list = useResource<Endpoints>(`${id} ${hours} ${page}`, (signal) =>
    call(`${id}/endpoints?window_hours=${encodeURIComponent(hours)}&page=${page}&per_page=50`, { signal }),
  );
  useLiveReload(["delivery"], list.reload);
  const found = list.data;
  const columns: readonly Column<Endpoint>[] = [
    { key: "host", title: "Endpoint", cell: (endpoint) => endpoint.host },
    { key: "deliveries", title: "Events", end: true, cell: (endpoint) => count(endpoint.deliveries) },
    { key: "rate", title: "Succeeded", end: true, cell: (endpoint) => <Share endpoint={endpoint} /> },
    { key: "times", title: "Median, 95 %", end: true, cell: (endpoint) => <Times endpoint={endpoint} /> },
    { key: "pending", title: "Waiting or retrying", end: true, cell: (endpoint) => count(endpoint.pending) },
    { key: "failed", title: "Failed", end: true, cell: (endpoint) => <strong class={endpoint.failed > 0 ? "figure-bad" : undefined}>{count(endpoint.failed)}</strong> },
    { key: "success", title: "Last success", cell: (endpoint) => <Time at={endpoint.last_success_at} none="never" /> },
    { key: "error", title: "Last error", cell: (endpoint) => <LastError endpoint={endpoint} /> },
    ...(may("editor")
      ? [
          {
            key: "act",
            title: "Replay",
            silent: true,
            cell: (endpoint: Endpoint) =>
              endpoint.failed > 0 && (
                <Link to={`${id}/deliveries/replay?host=${encodeURIComponent(endpoint.host)}`} class="button">
                  Replay<span class="vh"> what failed at {endpoint.host}</span>
                </Link>
              ),
          },
        ]
      : []),
  ];
  return (
    <>
      <PageHead title="Endpoints" trail={[{ to: `${id}/deliveries`, title: "Deliveries" }]} />
      <DeliveriesNav />
      <FilterBar label="Window of time" names={["hours"]} result={found === null ? null : `${counted(found.pagination.total, "endpoint")}; events, attempts and times since ${localTime(found.since)}`}>
        <SelectFilter name="hours" label="Window" any="The last 24 hours" options={WINDOWS} />
      </FilterBar>
      {list.error && <Failure error={list.error} onRetry={list.reload} />}
      {found === null ? (
        list.error === null && <Loading what="endpoints" />
      ) : found.pagination.total === 0 ? (
        <Empty title="No endpoints yet">
          <p>An endpoint is a host that runs deliver their events to. It appears here with the first event of a run that has a webhook.</p>
        </Empty>
      ) : (
        <>
          <DataTable caption="Endpoints" columns={columns} rows={found.data} rowKey={(endpoint) => endpoint.host} to={(endpoint) => `${id}/deliveries?host=${encodeURIComponent(endpoint.host)}`} />
          <Pagination pagination={found.pagination} label="Pages of endpoints" />
        </>
      )}
    </>
  );
}

function LastError({ endpoint: { last_error: error } }: { endpoint: Endpoint }) {
  if (error === null) return <span class="quiet">never</span>;
  return (
    <>
      {outcomeText(error.outcome, error.http_status)}, <Time at={error.at} />
    </>
  );
}

function Share({ endpoint: { success_rate: share, attempts } }: { endpoint: Endpoint }) {
  if (share === null) return <span class="quiet">–</span>;
  const percent = share * 100;
  // 99.96 % must not be shown as 100 %.
  const words = percent === 100 ? "100" : Math.min(percent, 99.9).toFixed(1);
  return (
    <>
      <strong>{words} %</strong> <span class="quiet">of {count(attempts)}</span>
    </>
  );
}

function Times({ endpoint: { latency_p50_ms: half, latency_p95_ms: most } }: { endpoint: Endpoint }) {
  return half === null || most === null ? <span class="quiet">–</span> : <span class="nowrap">{`${duration(half)}, ${duration(most)}`}</span>;
}
