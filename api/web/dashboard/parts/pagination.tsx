import { Icon } from "../../kit/controls/icon";
import { path, query } from "../router";
import { Link } from "./link";
import { count } from "./progress";

/** As in every list response. */
export interface PageInfo {
  readonly total: number;
  readonly page: number;
  readonly per_page: number;
  readonly next_page: number | null;
}

/** The visible range and links to other pages; the query parameter is `page`. */
export function Pagination({ pagination: { total, page, per_page, next_page }, label }: { pagination: PageInfo; label: string }) {
  if (total <= per_page && page === 1) return null;
  const last = Math.max(1, Math.ceil(total / per_page));
  const first = Math.min(total, (page - 1) * per_page + 1);
  return (
    <nav class="pagination" aria-label={label}>
      <p class="quiet small tabular">
        {page > last ? `Page ${page} is past the end` : `${count(first)}–${count(Math.min(total, page * per_page))} of ${count(total)}`}
      </p>
      <div class="actions">
        {page > 1 && (
          <Link to={addressOf(Math.min(page - 1, last))} class="button">
            <Icon name="back" />
            Previous
          </Link>
        )}
        {next_page !== null && (
          <Link to={addressOf(next_page)} class="button">
            Next
            <Icon name="forward" />
          </Link>
        )}
      </div>
    </nav>
  );
}

function addressOf(page: number): string {
  const next = new URLSearchParams(query.value);
  if (page === 1) next.delete("page");
  else next.set("page", String(page));
  const text = next.toString();
  return `${path.value}${text === "" ? "" : `?${text}`}`;
}
