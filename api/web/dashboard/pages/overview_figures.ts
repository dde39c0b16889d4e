/** The figures of the overview: what each number counts, and the filtered list behind it. */
import { dateOf, localTimestamp } from "../../core";
import { count } from "../parts/progress";

/** `GET overview` */
export interface Overview {
  readonly since: string;
  readonly runs: Readonly<Record<"dispatched" | "completed" | "open" | "expiring" | "expired" | "flagged", number>>;
  /** A count that reaches it means at least that many. */
  readonly counted_up_to: number;
  readonly failed_deliveries: number;
  readonly failing_endpoints: { readonly total: number; readonly data: readonly FailingEndpoint[] };
  readonly templates: readonly TemplateTimes[];
  /** Why archived runs may be missing. */
  readonly archive: { readonly message: string } | null;
}

export interface FailingEndpoint {
  readonly host: string;
  readonly pending: number;
  readonly failed: number;
  readonly last_error: { readonly at: string; readonly outcome: string | null; readonly http_status: number | null; readonly detail: string | null } | null;
}

export interface TemplateTimes {
  readonly template_id: string;
  readonly template_name: string;
  readonly runs: number;
  readonly median_ms: number;
  readonly p90_ms: number;
}

export interface Figure {
  readonly key: string;
  readonly title: string;
  /** "10,000+" where counting stopped. */
  readonly text: string;
  /** The list behind the number, below the organization. */
  readonly to: string;
  /** Above zero, it asks for attention. */
  readonly tone: "plain" | "warn" | "bad";
}

/** In the order of the page. A further count of the service is one entry here. */
export function figuresOf(overview: Overview, { today, weekAgo }: Pick<Day, "today" | "weekAgo">): readonly Figure[] {
  const { runs, failed_deliveries: failed } = overview;
  const numbers = [
    { key: "dispatched", title: "Dispatched today", value: runs.dispatched, to: `runs?from=${today}`, tone: "plain" },
    { key: "completed", title: "Completed today", value: runs.completed, to: `runs?status=completed&completed=${today}`, tone: "plain" },
    { key: "open", title: "Open", value: runs.open, to: "runs?status=open", tone: "plain" },
    { key: "expiring", title: "Expire within 24 hours", value: runs.expiring, to: "runs?status=open&expires=soon", tone: "warn" },
    { key: "expired", title: "Expired in the last 24 hours", value: runs.expired, to: "runs?status=expired&expires=lately", tone: "bad" },
    { key: "flagged", title: "Flagged in 7 days", value: runs.flagged, to: `runs?flagged=true&from=${weekAgo}`, tone: "warn" },
    { key: "failed", title: "Failed deliveries", value: failed, to: "deliveries?status=failed", tone: "bad" },
  ] as const;
  return numbers.map(({ value, tone, ...rest }) => ({
    ...rest,
    text: value >= overview.counted_up_to && rest.key !== "failed" ? `${count(overview.counted_up_to)}+` : count(value),
    tone: value > 0 ? tone : "plain",
  }));
}

export interface Day {
  /** Midnight before the moment in the reader's time zone. */
  readonly since: string;
  /** Its day, as in the address. */
  readonly today: string;
  /** The first of the seven days that end with it. */
  readonly weekAgo: string;
}

export function dayOf(moment: number): Day {
  const start = new Date(moment);
  start.setHours(0, 0, 0, 0);
  const first = new Date(start);
  first.setDate(first.getDate() - 6);
  return { since: start.toISOString(), today: dateOf(localTimestamp(start)), weekAgo: dateOf(localTimestamp(first)) };
}
