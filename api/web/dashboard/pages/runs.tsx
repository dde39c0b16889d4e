/**
 * All runs, newest first. Listed runs are updated in place; new runs are counted above the list and shown on request.
 * The list therefore ends at its newest run by creation time.
 */
import { useMemo, useRef, useState } from "preact/hooks";

import "../styles/runs.css";
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { serverNow } from "../clock";
import { FlaggedBadge, RunStatusBadge } from "../parts/badge";
import { CommandToCopy } from "../parts/copy";
import { DownloadNow, useDownload } from "../parts/downloads";
import { DayFilter, FilterBar, SelectFilter, TextFilter } from "../parts/filters";
import { Link } from "../parts/link";
import { Menu } from "../parts/menu";
import { PageHead } from "../parts/page_head";
import { PER_PAGE, type PageOf, usePagedRows } from "../parts/paged_rows";
import { counted } from "../parts/progress";
import { Empty, Failure, Loading } from "../parts/states";
import type { Column } from "../parts/table";
import { Time } from "../parts/time";
import { WindowedRows } from "../parts/windowed";
import { type LiveChange, useLive, useLiveReload } from "../live";
import { BASE, query, setQuery } from "../router";
import { may, organization } from "../session";
import { FILTERS, filtersOf, OPEN, otherFilters, upTo } from "./runs_filters";
import { useTemplates } from "./runs_templates";
import { isOpen, progressText, RUN_STATUSES, type RunSummary } from "./runs_types";

const FLAGGED = [
  { value: "true", title: "With flagged answers" },
  { value: "false", title: "Without" },
];

const COLUMNS: readonly Column<RunSummary>[] = [
  { key: "template", title: "Checklist", cell: (run) => <span title={run.template_name}>{run.template_name}</span> },
  { key: "status", title: "Status", cell: (run) => <RunStatusBadge status={run.status} /> },
  { key: "reference", title: "Reference", cell: (run) => <span dir="auto" title={run.executor_ref ?? undefined}>{run.executor_ref ?? <span class="quiet">–</span>}</span> },
  { key: "progress", title: "Progress", cell: (run) => <ProgressCell run={run} /> },
  { key: "created", title: "Dispatched", cell: (run) => <Time at={run.created_at} /> },
  { key: "end", title: "End", cell: (run) => <End run={run} /> },
];

function ProgressCell({ run }: { run: RunSummary }) {
  return (
    <span class="run-progress" title={run.flagged > 0 ? `${counted(run.flagged, "answer")} not as expected` : undefined}>
      {progressText(run)}
      {run.flagged > 0 && <FlaggedBadge count={run.flagged} short />}
    </span>
  );
}

function End({ run }: { run: RunSummary }) {
  if (!isOpen(run.status)) return <Time at={run.completed_at ?? run.cancelled_at ?? run.expires_at} />;
  if (run.expires_at === null) return <span class="quiet">never expires</span>;
  return (
    <>
      expires <Time at={run.expires_at} />
    </>
  );
}

export function RunsPage() {
  const id = organization.value?.id ?? "";
  const templates = useTemplates(id);
  // "Within 24 hours" counts from when the list was opened.
  const filters = useMemo(() => filtersOf(query.value, serverNow()), [query.value]);
  const [turn, setTurn] = useState(0);
  const key = `${id}?${filters}#${turn}`;
  const isFiltered = FILTERS.some((name) => query.value.has(name));
  /** Upper bound of the list by creation time (exclusive); null if it was empty. */
  const limit = useRef<{ key: string; newest: string | null }>({ key: "", newest: null });
  const [fresh, setFresh] = useState<{ key: string; count: number }>({ key, count: 0 });

  /** Why archived runs may be missing. */
  const [missing, setMissing] = useState<string | null>(null);

  const rows = usePagedRows<RunSummary>(key, async (page, signal) => {
    const bound = limit.current.key === key ? limit.current.newest : null;
    const found = await call<PageOf<RunSummary>>(`${id}/runs?${upTo(filters, bound)}&page=${page}&per_page=${PER_PAGE}`, { signal });
    setMissing(found.archive?.message ?? null);
    if (limit.current.key !== key && page === 1) limit.current = { key, newest: found.data[0]?.created_at ?? null };
    return found;
  });

  const counting = useRef<AbortController>(undefined);
  useLive(["run"], (changes) => {
    if (changes !== null) rows.update((run) => changed(run, changes));
  });
  useLiveReload(["run"], () => {
    if (limit.current.key !== key) return;
    const { newest } = limit.current;
    if (newest === null) return setTurn((before) => before + 1);
    rows.refresh();
    counting.current?.abort();
    counting.current = new AbortController();
    void countAfter(id, filters, newest, counting.current.signal).then((count) => setFresh({ key, count }));
  });
  const isNew = fresh.key === key ? fresh.count : 0;
  const showNew = () => {
    setTurn((before) => before + 1);
    scrollTo({ top: 0, behavior: "instant" });
  };

  const options = useMemo(() => (templates.data ?? []).map((one) => ({ value: one.id, title: one.name })), [templates.data]);
  const isEmpty = rows.total === 0;
  const exporting = useDownload();
  const exportAs = (format: string, words: string) => exporting.start(`${id}/exports?${filters && `${filters}&`}${format}`, `Exporting as ${words}`);
  return (
    <>
      <PageHead
        title="Runs"
        actions={
          <>
            {rows.total !== null && !isEmpty && <ExportMenu onExport={exportAs} ofOneTemplate={query.value.has("template")} />}
            {may("editor") && (
              <Link to={`${id}/runs/new`} class="button button-primary">
                <Icon name="send" />
                Dispatch a run
              </Link>
            )}
          </>
        }
      />
      <DownloadNow download={exporting} />
      {!(isEmpty && !isFiltered) && (
        <FilterBar label="Filter runs" names={FILTERS} others={otherFilters(query.value)} result={rows.total === null ? null : counted(rows.total, "run")}>
          <SelectFilter name="status" label="Status" options={[OPEN, ...RUN_STATUSES]} />
          <SelectFilter name="template" label="Checklist" options={options} />
          <TextFilter name="reference" label="Reference" placeholder="The whole reference" />
          <SelectFilter name="flagged" label="Not as expected" options={FLAGGED} />
          <DayFilter name="from" label="Dispatched from" />
          <DayFilter name="until" label="Dispatched until" />
        </FilterBar>
      )}
      {missing !== null && (
        <p class="message is-warn runs-missing" role="status">
          {missing}
        </p>
      )}
      <div class="runs-new" role="status">
        {isNew > 0 && (
          <button type="button" class="button" onClick={showNew}>
            <Icon name="up" />
            {counted(isNew, "new run")}
          </button>
        )}
      </div>
      {rows.total === null ? rows.error ? <Failure error={rows.error} onRetry={rows.refresh} /> : <Loading what="runs" /> : isEmpty ? isFiltered ? <NothingFound /> : <NoRuns /> : <WindowedRows caption="Runs" columns={COLUMNS} rows={rows} to={(run) => `${id}/runs/${run.run_id}`} name="runs-list" />}
    </>
  );
}

/** Exports all runs that match the filters. */
function ExportMenu({ onExport, ofOneTemplate }: { onExport(format: string, words: string): void; ofOneTemplate: boolean }) {
  const kinds = [
    { format: "format=csv", title: "CSV, a row for each answer", words: "CSV" },
    ...(ofOneTemplate ? [{ format: "format=csv&rows=runs", title: "CSV, a row for each run", words: "CSV" }] : []),
    { format: "format=jsonl", title: "JSON lines", words: "JSON lines" },
    { format: "format=geojson", title: "GeoJSON, locations of answers", words: "GeoJSON" },
  ];
  return (
    <Menu label="Export these runs" class="export-menu" face={<span>Export</span>}>
      {(close) => (
        <>
          {kinds.map(({ format, title, words }) => (
            <button
              key={format}
              type="button"
              onClick={() => {
                close();
                onExport(format, words);
              }}
            >
              {title}
            </button>
          ))}
          {!ofOneTemplate && <p class="menu-hint quiet small">Choose a checklist to get a row for each run.</p>}
        </>
      )}
    </Menu>
  );
}

function NothingFound() {
  return (
    <Empty title="No run matches these filters">
      <button type="button" class="button" onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}>
        Show all runs
      </button>
    </Empty>
  );
}

function NoRuns() {
  const id = organization.value?.id ?? "";
  const command = [
    `curl -X POST ${new URL("../v1/runs", BASE).href} \\`,
    '  -H "Authorization: Bearer $CHECKLISTS_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"template_id": "t-…", "expires_in_hours": 24, "executor_ref": "order 4711"}'`,
  ].join("\n");
  return (
    <Empty title="No runs yet">
      <p>A run sends one checklist to one person. They get a link, need no account, and their answers arrive here.</p>
      {may("editor") && (
        <p>
          <Link to={`${id}/runs/new`}>Dispatch the first run</Link>, or do it from your own program:
        </p>
      )}
      <CommandToCopy command={command} />
    </Empty>
  );
}

/** Applies a change to a run before the list is reloaded. */
function changed(run: RunSummary, changes: readonly LiveChange[]): RunSummary {
  const match = changes.find((change) => change.id === run.run_id);
  if (match === undefined || match.change === "gone") return run;
  const status = RUN_STATUSES.find((one) => one.value === match.status)?.value;
  return { ...run, status: status ?? run.status, progress: match.progress ?? run.progress, flagged: match.flagged ?? run.flagged };
}

async function countAfter(id: string, filters: string, newest: string, signal: AbortSignal): Promise<number> {
  const parts = new URLSearchParams(filters);
  parts.set("created_after", newest);
  try {
    return (await call<PageOf<RunSummary>>(`${id}/runs?${parts}&page=1&per_page=1`, { signal })).pagination.total;
  } catch {
    return 0; // the list itself shows the error
  }
}
