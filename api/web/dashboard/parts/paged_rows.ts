/** The rows of a long list, fetched in pages of 100 as they become visible, and cached while the list is the same. */
import { useCallback, useEffect, useMemo, useReducer, useRef } from "preact/hooks";

import { ApiError } from "../client";
import type { PageInfo } from "./pagination";

export const PER_PAGE = 100;
const PAGES_KEPT = 60;
/** Debounces fetching while the person scrolls quickly. */
const SETTLED_AFTER_MS = 60;

export interface PageOf<Row> {
  /** Present if rows may be missing, with the reason. */
  readonly archive?: { readonly message: string };
  readonly data: readonly Row[];
  readonly pagination: PageInfo;
}

export interface PagedRows<Row> {
  /** null: not known yet. */
  readonly total: number | null;
  readonly error: ApiError | null;
  readonly loading: boolean;
  at(index: number): Row | undefined;
  /** Sets the visible rows; missing ones are fetched. */
  want(first: number, last: number): void;
  /** Reloads the visible rows; the current ones stay until the response. */
  refresh(): void;
  /** Updates rows in place; `change` returns the same row if nothing changed. */
  update(change: (row: Row) => Row): void;
}

interface Kept<Row> {
  pages: Map<number, readonly Row[]>;
  asked: Map<number, AbortController>;
  total: number | null;
  error: ApiError | null;
  seen: readonly [first: number, last: number];
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** `key` identifies the list with its filters; `read` is `(page, signal) => call(...)` of `PER_PAGE` rows. */
export function usePagedRows<Row>(key: string, read: (page: number, signal: AbortSignal) => Promise<PageOf<Row>>): PagedRows<Row> {
  const [, drawAgain] = useReducer((turn: number) => turn + 1, 0);
  const newest = useRef(read);
  newest.current = read;
  const kept = useMemo<Kept<Row>>(() => ({ pages: new Map(), asked: new Map(), total: null, error: null, seen: [0, 0], timer: undefined }), [key]);

  const fetchPage = useCallback(
    async (page: number) => {
      const aborter = new AbortController();
      kept.asked.get(page)?.abort();
      kept.asked.set(page, aborter);
      try {
        const found = await newest.current(page, aborter.signal);
        if (aborter.signal.aborted) return;
        kept.pages.delete(page);
        kept.pages.set(page, found.data);
        kept.total = found.pagination.total;
        kept.error = null;
        forgetFarthest(kept);
      } catch (error) {
        if (aborter.signal.aborted) return;
        kept.error = error instanceof ApiError ? error : new ApiError(0, "unexpected", String(error));
      }
      kept.asked.delete(page);
      drawAgain(0);
    },
    [kept],
  );

  const want = useCallback(
    (first: number, last: number) => {
      kept.seen = [first, last];
      clearTimeout(kept.timer);
      kept.timer = setTimeout(() => {
        const needed = pagesOf(kept.seen);
        for (const [page, aborter] of kept.asked) {
          if (needed.includes(page)) continue;
          aborter.abort();
          kept.asked.delete(page);
        }
        if (kept.error !== null) return;
        for (const page of needed) if (!kept.pages.has(page) && !kept.asked.has(page)) void fetchPage(page);
      }, SETTLED_AFTER_MS);
    },
    [kept, fetchPage],
  );

  const refresh = useCallback(() => {
    kept.error = null;
    const needed = pagesOf(kept.seen);
    for (const page of [...kept.pages.keys()]) if (!needed.includes(page)) kept.pages.delete(page);
    for (const page of needed) void fetchPage(page);
    drawAgain(0);
  }, [kept, fetchPage]);

  const update = useCallback(
    (change: (row: Row) => Row) => {
      for (const [page, rows] of kept.pages) kept.pages.set(page, rows.map(change));
      drawAgain(0);
    },
    [kept],
  );

  useEffect(() => {
    void fetchPage(1);
    return () => {
      clearTimeout(kept.timer);
      for (const aborter of kept.asked.values()) aborter.abort();
    };
  }, [kept, fetchPage]);

  const at = (index: number) => kept.pages.get(Math.floor(index / PER_PAGE) + 1)?.[index % PER_PAGE];
  return { total: kept.total, error: kept.error, loading: kept.asked.size > 0 || (kept.total === null && kept.error === null), at, want, refresh, update };
}

function pagesOf([first, last]: readonly [number, number]): number[] {
  const from = Math.floor(Math.max(0, first) / PER_PAGE) + 1;
  const until = Math.floor(Math.max(0, last) / PER_PAGE) + 1;
  return Array.from({ length: until - from + 1 }, (_, step) => from + step);
}

function forgetFarthest<Row>(kept: Kept<Row>): void {
  const middle = (kept.seen[0] + kept.seen[1]) / 2 / PER_PAGE + 1;
  const far = [...kept.pages.keys()].sort((one, other) => Math.abs(other - middle) - Math.abs(one - middle));
  for (const page of far.slice(0, Math.max(0, far.length - PAGES_KEPT))) kept.pages.delete(page);
}
