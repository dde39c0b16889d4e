/**
 * A table of one page of rows. The first cell of a row is its link; arrow keys, j and k move between rows. On a phone each row
 * becomes a card. (Changing the CSS display removes table semantics in browsers; the ARIA roles restore them.)
 */
import type { ComponentChildren } from "preact";

import { Icon } from "../../kit/controls/icon";
import { Link } from "./link";
import { InTable } from "./time";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  cell(row: Row): ComponentChildren;
  /** Aligns numbers at the end. */
  readonly end?: boolean;
  /** Whether the table can be sorted by it; see `sort`. */
  readonly sortable?: boolean;
  /** Hides the title visually: for a column of buttons. */
  readonly silent?: boolean;
}

export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

interface DataTableProps<Row> {
  /** The caption, visually hidden. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey(row: Row): string;
  /** The target of the row's link in the first cell. */
  to?(row: Row): string | null;
  /** undefined: unsorted. */
  sort?: Sort | undefined;
  onSort?(sort: Sort): void;
  /** Old rows stay visible while new ones are loading. */
  busy?: boolean;
}

export function DataTable<Row>({ caption, columns, rows, rowKey, to, sort, onSort, busy = false }: DataTableProps<Row>) {
  return (
    <div class="table-frame">
      <table class="table" role="table" aria-busy={busy}>
        <caption class="vh">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th key={column.key} role="columnheader" scope="col" class={column.end ? "is-end" : undefined} aria-sort={sortOf(column, sort)}>
                {column.sortable && onSort ? (
                  <SortButton column={column} sort={sort} onSort={onSort} />
                ) : column.silent ? (
                  <span class="vh">{column.title}</span>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" onKeyDown={moveAmongRows}>
          <InTable.Provider value={true}>
            {rows.map((row) => (
              <Row key={rowKey(row)} row={row} columns={columns} to={to?.(row) ?? null} />
            ))}
          </InTable.Provider>
        </tbody>
      </table>
    </div>
  );
}

function Row<R>({ row, columns, to }: { row: R; columns: readonly Column<R>[]; to: string | null }) {
  return (
    <tr role="row" class={to === null ? undefined : "is-link"}>
      {columns.map((column, index) =>
        index === 0 ? (
          <th key={column.key} role="rowheader" scope="row" dir="auto">
            {to === null ? (
              column.cell(row)
            ) : (
              <Link to={to} class="row-link">
                {column.cell(row)}
              </Link>
            )}
          </th>
        ) : (
          <td key={column.key} role="cell" class={column.end ? "is-end" : undefined} data-label={column.silent ? undefined : column.title}>
            <div class="cell">{column.cell(row)}</div>
          </td>
        ),
      )}
    </tr>
  );
}

interface SortButtonProps<Row> {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort(sort: Sort): void;
}

function SortButton<Row>({ column, sort, onSort }: SortButtonProps<Row>) {
  const own = sort?.by === column.key;
  const descending = own && sort.descending;
  return (
    <button type="button" class="sort" onClick={() => onSort({ by: column.key, descending: own && !descending })}>
      {column.title}
      <span class={own ? "sort-sign is-on" : "sort-sign"}>
        <Icon name={own && !descending ? "up" : "down"} />
      </span>
    </button>
  );
}

function sortOf<Row>(column: Column<Row>, sort: Sort | undefined) {
  if (!column.sortable) return undefined;
  if (sort?.by !== column.key) return "none";
  return sort.descending ? "descending" : "ascending";
}

/** j and k as well as the arrow keys, while a row has the focus; 0 for other keys. */
export function rowStep(event: KeyboardEvent): number {
  if (event.ctrlKey || event.metaKey || event.altKey) return 0;
  return { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key] ?? 0;
}

function moveAmongRows(event: KeyboardEvent): void {
  const step = rowStep(event);
  const { target, currentTarget } = event;
  if (step === 0 || !(target instanceof HTMLElement) || !target.classList.contains("row-link")) return;
  const links = [...(currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".row-link")];
  const next = links[links.indexOf(target) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
