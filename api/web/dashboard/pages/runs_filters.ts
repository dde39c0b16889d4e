/** The filters of the list of runs: in the address, and as query parameters of the API. */
import { dayEnd, dayStart } from "../parts/filters";
import { localDay } from "../parts/time";

export const FILTERS = ["status", "template", "reference", "flagged", "from", "until", "completed", "expires"] as const;
/** A status to filter by: pending or in progress. */
export const OPEN = { value: "open", title: "Open" };
const DAY_MS = 86_400_000;

/** The filters in the address as query parameters of the API. */
export function filtersOf(given: URLSearchParams, now: number): string {
  const parts = new URLSearchParams();
  const put = (name: string, value: string | null) => value && parts.set(name, value);
  put("status", given.get("status"));
  put("template_id", given.get("template"));
  put("executor_ref", given.get("reference"));
  put("flagged", given.get("flagged"));
  const start = dayStart(given.get("from"));
  put("created_after", start && justBefore(start));
  put("created_before", dayEnd(given.get("until")));
  const completed = dayStart(given.get("completed"));
  put("completed_after", completed && justBefore(completed));
  const [from, until] = { soon: [0, DAY_MS], lately: [-DAY_MS, 0] }[given.get("expires") ?? ""] ?? [];
  if (from !== undefined && until !== undefined) {
    put("expires_after", new Date(now + from).toISOString());
    put("expires_before", new Date(now + until).toISOString());
  }
  return parts.toString();
}

/** The filters that links of the overview set, and that have no field. */
export function otherFilters(given: URLSearchParams): { name: string; title: string }[] {
  const completed = dayStart(given.get("completed"));
  const expires = { soon: "Expires within 24 hours", lately: "Expired in the last 24 hours" }[given.get("expires") ?? ""];
  return [...(completed === null ? [] : [{ name: "completed", title: `Completed since ${localDay(completed)}` }]), ...(expires === undefined ? [] : [{ name: "expires", title: expires }])];
}

/** An upper bound that includes the run created at `newest`. */
export function upTo(filters: string, newest: string | null): string {
  const parts = new URLSearchParams(filters);
  const bound = newest === null ? null : new Date(Date.parse(newest) + 1).toISOString();
  const given = parts.get("created_before");
  if (bound !== null && (given === null || bound < given)) parts.set("created_before", bound);
  return parts.toString();
}

/** The service's bound is exclusive. */
function justBefore(moment: string): string {
  return new Date(Date.parse(moment) - 1).toISOString();
}
