/** All templates of the organization, filtered as the person types. */
import "../../styles/templates.css";

import { useMemo } from "preact/hooks";

import { Icon } from "../../../kit/controls/icon";
import { useLiveReload } from "../../live";
import { BASE, navigate, query, setQuery } from "../../router";
import { Badge } from "../../parts/badge";
import { CommandToCopy } from "../../parts/copy";
import { FilterBar, SelectFilter, TextFilter } from "../../parts/filters";
import { Link } from "../../parts/link";
import { PageHead } from "../../parts/page_head";
import { Pagination } from "../../parts/pagination";
import { count, counted } from "../../parts/progress";
import { useResource } from "../../parts/resource";
import { Empty, Failure, Loading } from "../../parts/states";
import { DataTable, type Sort } from "../../parts/table";
import { Time } from "../../parts/time";
import { may, organization } from "../../session";
import { allTemplates, type TemplateRow } from "./templates_api";

const PER_PAGE = 50;
const MANAGED = [
  { value: "here", title: "In the dashboard or by the API" },
  { value: "gitops", title: "By GitOps" },
];

export function TemplatesPage() {
  const org = organization.value?.id ?? "";
  const templates = useResource(`templates ${org}`, (signal) => allTemplates(org, signal));
  useLiveReload(["template"], templates.reload);
  const rows = templates.data;
  const found = useMemo(() => sorted((rows ?? []).filter(matching(query.value)), sortOf(query.value)), [rows, query.value]);
  const tags = useMemo(() => [...new Set((rows ?? []).flatMap((row) => row.tags))].sort((one, other) => one.localeCompare(other)), [rows]);
  const page = Math.max(1, Number(query.value.get("page")) || 1);
  const shown = found.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return (
    <>
      <PageHead
        title="Templates"
        actions={
          may("editor") && (
            <button type="button" class="button button-primary" onClick={() => navigate(`${org}/templates/new`)}>
              <Icon name="plus" />
              New template
            </button>
          )
        }
      >
        <p>A run is dispatched from a template, and keeps the version that it was dispatched with.</p>
      </PageHead>
      {templates.error && <Failure error={templates.error} onRetry={templates.reload} />}
      {rows === null ? (
        !templates.error && <Loading what="templates" />
      ) : rows.length === 0 ? (
        <NoTemplates org={org} />
      ) : (
        <>
          <FilterBar label="Filter templates" names={["q", "tag", "managed"]} result={found.length === rows.length ? counted(rows.length, "template") : `${count(found.length)} of ${counted(rows.length, "template")}`}>
            <TextFilter name="q" label="Search" placeholder="Name, description or tag" />
            {tags.length > 0 && <SelectFilter name="tag" label="Tag" options={tags.map((tag) => ({ value: tag, title: tag }))} />}
            <SelectFilter name="managed" label="Managed" options={MANAGED} />
          </FilterBar>
          {found.length === 0 ? (
            <Empty title="No template matches these filters">
              <p>Clear a filter, or search for another word.</p>
            </Empty>
          ) : (
            <>
              <TemplateTable org={org} rows={shown} busy={templates.loading} />
              <Pagination label="Pages of templates" pagination={{ total: found.length, page, per_page: PER_PAGE, next_page: page * PER_PAGE < found.length ? page + 1 : null }} />
            </>
          )}
        </>
      )}
    </>
  );
}

function TemplateTable({ org, rows, busy }: { org: string; rows: readonly TemplateRow[]; busy: boolean }) {
  return (
    <DataTable
      caption="Templates"
      rows={rows}
      busy={busy}
      sort={sortOf(query.value)}
      onSort={({ by, descending }) => setQuery({ sort: descending ? `-${by}` : by, page: null })}
      rowKey={(row) => row.id}
      to={(row) => `${org}/templates/${row.id}`}
      columns={[
        { key: "name", title: "Name", sortable: true, cell: (row) => row.name || row.id },
        {
          key: "tags",
          title: "Tags",
          cell: (row) =>
            row.tags.length === 0 ? (
              <span class="quiet">–</span>
            ) : (
              <span class="tag-cell">
                {row.tags.slice(0, 4).map((tag) => (
                  <span key={tag} class="chip" dir="auto">
                    {tag}
                  </span>
                ))}
                {row.tags.length > 4 && <span class="quiet small">and {row.tags.length - 4} more</span>}
              </span>
            ),
        },
        { key: "steps", title: "Steps", end: true, sortable: true, cell: (row) => (row.step_count === undefined ? "–" : count(row.step_count)) },
        { key: "v", title: "Version", end: true, cell: (row) => row.v },
        { key: "changed", title: "Changed", sortable: true, cell: (row) => <Time at={row.updated_at} /> },
        {
          key: "managed",
          title: "Managed",
          cell: (row) =>
            row.managed_by ? (
              <span title={row.managed_by.reason}>
                <Badge tone="info" icon="sign">
                  {row.managed_by.manager}
                </Badge>
              </span>
            ) : (
              <span class="quiet">here</span>
            ),
        },
      ]}
    />
  );
}

function NoTemplates({ org }: { org: string }) {
  const body = JSON.stringify({ name: "Fridge check", sections: [{ id: "g-1", title: "Kitchen", steps: [{ id: "s-1", type: "boolean", label: "Is the fridge below 5 °C?", required: true }] }] });
  return (
    <Empty title="No templates yet">
      <p>A template is a list of steps to check. Every checklist that you send is made from one.</p>
      {may("editor") && (
        <p>
          <Link to={`${org}/templates/new`} class="button button-primary">
            Create the first template
          </Link>
        </p>
      )}
      <p>Describe it and have it generated, add steps one by one, or send it by the API:</p>
      <CommandToCopy command={`curl ${new URL("../v1/templates", BASE).href} \\\n  -H "Authorization: Bearer $CHECKLISTS_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '${body}'`} />
      <p>With GitOps, templates are objects in the cluster:</p>
      <CommandToCopy command="kubectl apply -f fridge-check.yaml   # kind: Template" />
    </Empty>
  );
}

const ORDERS: Readonly<Record<string, (one: TemplateRow, other: TemplateRow) => number>> = {
  name: (one, other) => (one.name || one.id).localeCompare(other.name || other.id),
  steps: (one, other) => (one.step_count ?? 0) - (other.step_count ?? 0),
  changed: (one, other) => Date.parse(one.updated_at) - Date.parse(other.updated_at),
};

/** `?sort=name`, `?sort=-changed`; undefined: the service's order, newest first. */
function sortOf(filters: URLSearchParams): Sort | undefined {
  const wanted = filters.get("sort") ?? "";
  const by = wanted.replace(/^-/, "");
  return Object.hasOwn(ORDERS, by) ? { by, descending: wanted !== by } : undefined;
}

function sorted(rows: readonly TemplateRow[], sort: Sort | undefined): readonly TemplateRow[] {
  const order = sort && ORDERS[sort.by];
  if (!order) return rows;
  return rows.toSorted((one, other) => (sort.descending ? -1 : 1) * order(one, other));
}

function matching(filters: URLSearchParams): (row: TemplateRow) => boolean {
  const words = (filters.get("q") ?? "").toLocaleLowerCase().split(/\s+/).filter((word) => word !== "");
  const [tag, managed] = [filters.get("tag"), filters.get("managed")];
  return (row) => {
    if (tag !== null && !row.tags.includes(tag)) return false;
    if (managed !== null && (managed === "gitops") !== Boolean(row.managed_by)) return false;
    const text = [row.name, row.description, row.id, ...row.tags].join("\n").toLocaleLowerCase();
    return words.every((word) => text.includes(word));
  };
}
