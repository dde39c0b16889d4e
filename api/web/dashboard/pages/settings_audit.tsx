/** Settings, audit log. The same filters apply to the list and the export. */
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { type LiveChange, useLiveReload } from "../live";
import { Badge } from "../parts/badge";
import { dayEnd, DayFilter, dayStart, FilterBar, SelectFilter } from "../parts/filters";
import { PageHead } from "../parts/page_head";
import { Pagination, type PageInfo } from "../parts/pagination";
import { counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { BASE, query } from "../router";
import { organization } from "../session";
import { ACTIONS, words } from "./settings_audit_text";
import type { Member } from "./settings_member_types";

import "../styles/settings.css";

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string | null; readonly name: string; readonly email: string | null };
  readonly action: string;
  readonly target: { readonly kind: string; readonly id: string | null; readonly name: string | null };
  readonly outcome: "done" | "failed";
  readonly details: Readonly<Record<string, string>>;
  readonly request_id: string | null;
  readonly address: string | null;
}

interface Entries {
  readonly data: readonly Entry[];
  readonly pagination: PageInfo;
  /** false: older entries exist, which only the export contains. */
  readonly complete: boolean;
}

const FILTERS = ["actor", "action", "outcome", "from", "to", "target"];

const COLUMNS: readonly Column<Entry>[] = [
  {
    key: "what",
    title: "What",
    cell: (entry) => (
      <span class="audit-details">
        <span class="audit-what">
          {words(entry.action)} {entry.outcome === "failed" && <Badge tone="bad">Failed</Badge>}
        </span>
      </span>
    ),
  },
  { key: "target", title: "To what", cell: (entry) => <Target entry={entry} /> },
  {
    key: "who",
    title: "Who",
    cell: (entry) => (
      <span class="audit-details">
        <span dir="auto">{entry.actor.name}</span>
        <span class="quiet small">{entry.actor.email ?? (entry.actor.kind === "api_key" ? "API key" : entry.actor.kind === "system" ? "the service" : "")}</span>
      </span>
    ),
  },
  { key: "at", title: "When", cell: (entry) => <Time at={entry.at} as="local" /> },
  { key: "address", title: "From", cell: (entry) => <span class="mono">{entry.address ?? "–"}</span> },
];

function Target({ entry }: { entry: Entry }) {
  const more = Object.entries(entry.details);
  return (
    <span class="audit-details">
      <span dir="auto">{entry.target.name ?? entry.target.id ?? entry.target.kind}</span>
      {more.length > 0 && <span class="quiet small">{more.map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(" · ")}</span>}
    </span>
  );
}

export function AuditPage() {
  const own = organization.value?.id ?? "";
  const asked = parametersOf(query.value);
  const page = query.value.get("page") ?? "1";
  const entries = useResource<Entries>(`${own}?${asked}&${page}`, (signal) => call(`${own}/audit?${asked}&per_page=50&page=${encodeURIComponent(page)}`, { signal }));
  const members = useResource<{ readonly data: readonly Member[] }>(own, (signal) => call(`${own}/members?per_page=100`, { signal }));
  // An entry is written before its action, so it is there when the change is received.
  useLiveReload(["key", "member", "template", "replay", "run"], entries.reload, isListed);
  useLiveReload(["member"], members.reload);
  const { data } = entries;
  const filtered = FILTERS.some((name) => query.value.has(name));
  return (
    <>
      <PageHead
        title="Audit"
        actions={
          <a class="button" download href={new URL(`api/${own}/audit/export?${asked}`, BASE).href}>
            <Icon name="download" />
            Export as JSON lines
          </a>
        }
      >
        <p>Actions on keys, members, templates, deliveries and runs. Entries are written before the action and never changed.</p>
      </PageHead>
      <FilterBar label="Filter the audit" names={FILTERS} result={data && counted(data.pagination.total, "entry", "entries")}>
        <SelectFilter name="actor" label="Who" any="Anyone" options={(members.data?.data ?? []).map((member) => ({ value: member.id, title: member.name }))} />
        <SelectFilter name="action" label="What" any="Anything" options={ACTIONS} />
        <SelectFilter
          name="outcome"
          label="Outcome"
          options={[
            { value: "done", title: "Done" },
            { value: "failed", title: "Failed" },
          ]}
        />
        <DayFilter name="from" label="From" />
        <DayFilter name="to" label="To" />
      </FilterBar>
      {entries.error && <Failure error={entries.error} onRetry={entries.reload} />}
      {data === null && entries.loading && <Loading what="the audit" />}
      {data?.pagination.total === 0 && (
        <Empty title={filtered ? "No entry matches these filters" : "No entries yet"}>
          <p>{filtered ? "Clear a filter, or choose other days." : "Actions such as creating a key, inviting a member or changing a template are listed here."}</p>
        </Empty>
      )}
      {data && data.pagination.total > 0 && (
        <>
          <DataTable caption="Audit" columns={COLUMNS} rows={data.data} rowKey={(entry) => entry.id} busy={entries.loading} />
          <Pagination pagination={data.pagination} label="Pages of the audit" />
          {!data.complete && <p class="quiet">The list does not show the oldest entries; the export contains all.</p>}
        </>
      )}
    </>
  );
}

/** Of run changes, only cancellation is audited. */
function isListed(change: LiveChange): boolean {
  return change.kind !== "run" || change.status === "cancelled";
}

/** The filters in the address as query parameters of the API: local days become timestamps. */
function parametersOf(filters: URLSearchParams): string {
  const asked = new URLSearchParams();
  for (const name of ["actor", "action", "target", "outcome"]) {
    const value = filters.get(name);
    if (value) asked.set(name, value);
  }
  const after = dayStart(filters.get("from"));
  const before = dayEnd(filters.get("to"));
  if (after !== null) asked.set("after", after);
  if (before !== null) asked.set("before", before);
  return asked.toString();
}
