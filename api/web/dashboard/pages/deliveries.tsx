/** All deliveries of the organization, newest first. */
import "../styles/deliveries.css";
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { useLiveReload } from "../live";
import { DayFilter, dayEnd, dayStart, FilterBar, SelectFilter, TextFilter } from "../parts/filters";
import { Link } from "../parts/link";
import { PageHead } from "../parts/page_head";
import { Pagination } from "../parts/pagination";
import { counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { query, setQuery } from "../router";
import { may, organization } from "../session";
import { DeliveriesNav } from "./deliveries_nav";
import type { Delivery, ListOf } from "./deliveries_types";
import { DELIVERY_STATUSES, DeliveryBadge, EVENTS, OUTCOME_OPTIONS, outcomeText } from "./deliveries_text";

const FILTERS = ["status", "event", "host", "outcome", "run", "from", "until"] as const;
const PER_PAGE = 50;

const COLUMNS: readonly Column<Delivery>[] = [
  { key: "event", title: "Event", cell: (delivery) => delivery.event },
  { key: "status", title: "Status", cell: (delivery) => <DeliveryBadge delivery={delivery} /> },
  { key: "host", title: "Endpoint", cell: (delivery) => <span class="host">{delivery.host}</span> },
  { key: "outcome", title: "Last outcome", cell: (delivery) => lastOutcome(delivery) },
  { key: "attempts", title: "Attempts", end: true, cell: (delivery) => `${delivery.attempts_made} of 5` },
  { key: "ts", title: "Happened", cell: (delivery) => <Time at={delivery.ts} /> },
  { key: "next", title: "Next attempt", cell: (delivery) => <Time at={delivery.next_attempt_at} /> },
];

export function DeliveriesPage() {
  const id = organization.value?.id ?? "";
  const filters = filtersOf(query.value);
  const page = Number(query.value.get("page")) || 1;
  const list = useResource<ListOf<Delivery>>(`${id}?${filters}&${page}`, (signal) => call(`${id}/deliveries?${filters}&page=${page}&per_page=${PER_PAGE}`, { signal }));
  useLiveReload(["delivery"], list.reload);
  const isFiltered = FILTERS.some((name) => query.value.has(name));
  const found = list.data;
  const isEmpty = found?.pagination.total === 0;
  return (
    <>
      <PageHead
        title="Deliveries"
        actions={
          may("editor") && (
            <Link to={`${id}/deliveries/replay${replayQuery()}`} class="button">
              <Icon name="retake" />
              Replay failed deliveries
            </Link>
          )
        }
      />
      <DeliveriesNav />
      {!(isEmpty && !isFiltered) && (
        <FilterBar label="Filter deliveries" names={FILTERS} result={found === null ? null : counted(found.pagination.total, "delivery", "deliveries")}>
          <SelectFilter name="status" label="Status" options={DELIVERY_STATUSES} />
          <SelectFilter name="event" label="Event" options={EVENTS} />
          <TextFilter name="host" label="Endpoint" placeholder="hooks.example.com" />
          <SelectFilter name="outcome" label="Last outcome" options={OUTCOME_OPTIONS} />
          <TextFilter name="run" label="Run" placeholder="r-…" />
          <DayFilter name="from" label="Happened from" />
          <DayFilter name="until" label="Happened until" />
        </FilterBar>
      )}
      {list.error && <Failure error={list.error} onRetry={list.reload} />}
      {found === null ? (
        list.error === null && <Loading what="deliveries" />
      ) : isEmpty ? (
        isFiltered ? (
          <NothingFound />
        ) : (
          <NoDeliveries />
        )
      ) : (
        <>
          <DataTable caption="Deliveries" columns={COLUMNS} rows={found.data} rowKey={(delivery) => delivery.event_id} to={(delivery) => `${id}/deliveries/${delivery.event_id}`} />
          <Pagination pagination={found.pagination} label="Pages of deliveries" />
        </>
      )}
    </>
  );
}

function NothingFound() {
  return (
    <Empty title="No delivery matches these filters">
      <button type="button" class="button" onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}>
        Show all deliveries
      </button>
    </Empty>
  );
}

function NoDeliveries() {
  const id = organization.value?.id ?? "";
  return (
    <Empty title="No deliveries yet">
      <p>
        A run with a webhook sends signed events to your server. You choose the webhook when you dispatch the run. An event is sent up to five times; if all attempts fail, you can replay it here.
      </p>
      {may("editor") && (
        <Link to={`${id}/runs/new`} class="button button-primary">
          Dispatch a run with a webhook
        </Link>
      )}
    </Empty>
  );
}

function lastOutcome(delivery: Delivery) {
  const last = delivery.attempts.at(-1);
  return last === undefined ? <span class="quiet">–</span> : outcomeText(last.outcome, last.http_status);
}

/** The filters in the address as query parameters of the API. */
function filtersOf(given: URLSearchParams): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | null) => value && parts.set(name, value);
  for (const name of ["status", "event", "host", "outcome"]) put(name, given.get(name));
  put("run_id", given.get("run"));
  const start = dayStart(given.get("from"));
  put("created_after", start && new Date(Date.parse(start) - 1).toISOString());
  put("created_before", dayEnd(given.get("until")));
  return parts.toString();
}

/** A new replay starts with the current filters, except the days, which have another meaning there. */
function replayQuery(): string {
  const parts = new URLSearchParams();
  for (const name of ["event", "host", "outcome", "run"]) {
    const value = query.value.get(name);
    if (value !== null && !(name === "outcome" && value === "success")) parts.set(name, value);
  }
  return parts.size === 0 ? "" : `?${parts}`;
}
