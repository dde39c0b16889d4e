/**
 * A virtualized list of thousands of rows: only visible rows are rendered. The first cell of a row is its link; arrow
 * keys move between rows. ARIA attributes give the total number (aria-rowcount, -rowindex).
 *
 *     const runs = usePagedRows<Run>(query.value.toString(), (page, signal) => call(`...&page=${page}&per_page=100`, { signal }));
 *     <WindowedRows caption="Runs" columns={COLUMNS} rows={runs} to={(run) => `${org}/runs/${run.run_id}`} name="runs-list" />
 *
 * `.runs-list` sets the column widths: `--columns: 2fr 1fr 140px`. Rows have a fixed height: 3rem, and 5.5rem on a
 * phone, where cells are stacked (`--columns` is not used there).
 */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Link } from "./link";
import type { PagedRows } from "./paged_rows";
import { Failure } from "./states";
import { type Column, rowStep } from "./table";
import { InTable } from "./time";

const ROW_REM = 3;
const PHONE_ROW_REM = 5.5;
/** Rows rendered beyond the edges, so that quick scrolling shows no gap. */
const BEYOND = 12;

const phone = matchMedia("(max-width: 720px)");
const onPhone = signal(phone.matches);
phone.addEventListener("change", () => (onPhone.value = phone.matches));

interface WindowedRowsProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: PagedRows<Row>;
  to(row: Row): string;
  /** A class with `--columns`. */
  name: string;
}

export function WindowedRows<Row>({ caption, columns, rows, to, name }: WindowedRowsProps<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const height = rowHeight();
  const [[first, last], setSeen] = useState<readonly [number, number]>([0, 40]);
  /** The focused row stays rendered wherever the list is scrolled to. */
  const [focused, setFocused] = useState<number | null>(null);
  const goal = useRef<number | null>(null);
  const total = rows.total ?? 0;

  useEffect(() => {
    let asked = 0;
    const look = () => {
      asked = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const from = Math.max(0, Math.floor(-top / height));
      const until = Math.max(from, Math.min(total - 1, Math.ceil((innerHeight - top) / height)));
      setSeen((before) => (before[0] === from && before[1] === until ? before : [from, until]));
    };
    const soon = () => {
      if (asked === 0) asked = requestAnimationFrame(look);
    };
    look();
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    return () => {
      cancelAnimationFrame(asked);
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
    };
  }, [height, total]);

  useEffect(() => {
    if (total > 0) rows.want(first, last);
  }, [first, last, total, rows.want]);

  useLayoutEffect(() => {
    if (goal.current === null) return;
    const link = body.current?.querySelector<HTMLElement>(`[aria-rowindex="${goal.current + 2}"] .row-link`);
    if (!link) return;
    goal.current = null;
    link.focus();
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const step = rowStep(event);
    if (step === 0 || focused === null || !(event.target instanceof HTMLElement) || !event.target.classList.contains("row-link")) return;
    event.preventDefault();
    const next = focused + step;
    if (next < 0 || next >= total) return;
    goal.current = next;
    setFocused(next);
  };

  const shown: number[] = [];
  for (let index = Math.max(0, first - BEYOND); index <= Math.min(total - 1, last + BEYOND); index += 1) shown.push(index);
  if (focused !== null && focused < total && !shown.includes(focused)) shown.push(focused);
  shown.sort((one, other) => one - other);

  return (
    <>
      {rows.error && <Failure error={rows.error} onRetry={rows.refresh} />}
      <div class={`windowed ${name}`} role="table" aria-label={caption} aria-rowcount={total + 1} aria-colcount={columns.length} aria-busy={rows.loading}>
        <div role="rowgroup" class="windowed-head">
          <div role="row" aria-rowindex={1} class="windowed-row">
            {columns.map((column) => (
              <span key={column.key} role="columnheader" class={column.end ? "is-end" : undefined}>
                {column.title}
              </span>
            ))}
          </div>
        </div>
        <div
          ref={body}
          role="rowgroup"
          class="windowed-body"
          style={{ blockSize: `${total * height}px` }}
          onKeyDown={onKeyDown}
          onFocusIn={(event) => setFocused(indexOf(event.target))}
          onFocusOut={() => setFocused(null)}
        >
          <InTable.Provider value={true}>
            {shown.map((index) => (
              <WindowedRow key={index} index={index} row={rows.at(index)} columns={columns} to={to} top={index * height} height={height} />
            ))}
          </InTable.Provider>
        </div>
      </div>
    </>
  );
}

interface RowProps<Row> {
  index: number;
  row: Row | undefined;
  columns: readonly Column<Row>[];
  to(row: Row): string;
  top: number;
  height: number;
}

function WindowedRow<Row>({ index, row, columns, to, top, height }: RowProps<Row>) {
  return (
    <div role="row" aria-rowindex={index + 2} class="windowed-row is-link" style={{ transform: `translateY(${top}px)`, blockSize: `${height}px` }}>
      {columns.map((column, at) =>
        row === undefined ? (
          <span key={column.key} role="cell">
            <span class="skeleton">{at === 0 && <span class="vh">Loading</span>}</span>
          </span>
        ) : at === 0 ? (
          <span key={column.key} role="rowheader" dir="auto">
            <Link to={to(row)} class="row-link">
              {column.cell(row)}
            </Link>
          </span>
        ) : (
          <span key={column.key} role="cell" class={column.end ? "is-end" : undefined}>
            {column.cell(row)}
          </span>
        ),
      )}
    </div>
  );
}

function indexOf(target: EventTarget | null): number | null {
  const row = target instanceof Element ? target.closest("[aria-rowindex]") : null;
  return row === null ? null : Number(row.getAttribute("aria-rowindex")) - 2;
}

function rowHeight(): number {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.round(rem * (onPhone.value ? PHONE_ROW_REM : ROW_REM));
}
