/** The first page: what happened today, what is open or late, which endpoints fail, and how long checklists take. */
import "../styles/overview.css";
import { Icon } from "../../kit/controls/icon";
import { call } from "../client";
import { serverNow } from "../clock";
import { useLiveReload } from "../live";
import { Link } from "../parts/link";
import { PageHead, Section } from "../parts/page_head";
import { count, counted } from "../parts/progress";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { duration, Time } from "../parts/time";
import { may, organization } from "../session";
import { outcomeText } from "./deliveries_text";
import { type Day, dayOf, type FailingEndpoint, figuresOf, type Overview, type TemplateTimes } from "./overview_figures";

export function OverviewPage() {
  const id = organization.value?.id ?? "";
  const day = dayOf(serverNow());
  const overview = useResource<Overview>(`${id} ${day.since}`, (signal) => call(`${id}/overview?since=${encodeURIComponent(day.since)}`, { signal }));
  useLiveReload(["run", "delivery"], overview.reload);
  const found = overview.data;
  return (
    <>
      <PageHead
        title="Overview"
        actions={
          may("editor") && (
            <Link to={`${id}/runs/new`} class="button button-primary">
              <Icon name="send" />
              Dispatch a run
            </Link>
          )
        }
      />
      {overview.error && <Failure error={overview.error} onRetry={overview.reload} />}
      {found === null ? (
        overview.error === null && <Loading what="the overview" />
      ) : (
        <>
          {found.archive !== null && (
            <p class="message is-warn" role="status">
              {found.archive.message}
            </p>
          )}
          <Figures overview={found} day={day} organizationId={id} />
          <Endpoints failing={found.failing_endpoints} organizationId={id} />
          <Times templates={found.templates} organizationId={id} />
        </>
      )}
    </>
  );
}

function Figures({ overview, day, organizationId }: { overview: Overview; day: Day; organizationId: string }) {
  return (
    <ul class="overview-figures" aria-label="Figures">
      {figuresOf(overview, day).map(({ key, title, text, to, tone }) => (
        <li key={key}>
          <Link to={`${organizationId}/${to}`} class={`figure is-${tone}`}>
            <span class="figure-title">
              {tone !== "plain" && <Icon name={tone === "warn" ? "clock" : "alert"} />}
              {title}
            </span>
            <strong class="figure-number tabular">{text}</strong>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Endpoints({ failing, organizationId }: { failing: Overview["failing_endpoints"]; organizationId: string }) {
  const more = failing.total - failing.data.length;
  const columns: readonly Column<FailingEndpoint>[] = [
    { key: "host", title: "Endpoint", cell: (endpoint) => endpoint.host },
    { key: "error", title: "Last error", cell: (endpoint) => <LastError endpoint={endpoint} /> },
    { key: "waiting", title: "Retrying", end: true, cell: ({ host, pending }) => <Deliveries number={pending} host={host} status="pending" words="waiting" organizationId={organizationId} /> },
    { key: "failed", title: "Failed", end: true, cell: ({ host, failed }) => <Deliveries number={failed} host={host} status="failed" words="failed" organizationId={organizationId} /> },
  ];
  return (
    <Section title="Failing endpoints" lead={failing.total > 0 ? "Their newest attempt failed." : undefined}>
      {failing.total === 0 ? (
        <p class="quiet">No endpoint fails.</p>
      ) : (
        <DataTable caption="Failing endpoints" columns={columns} rows={failing.data} rowKey={(endpoint) => endpoint.host} to={(endpoint) => `${organizationId}/deliveries?host=${encodeURIComponent(endpoint.host)}`} />
      )}
      {more > 0 && (
        <p>
          <Link to={`${organizationId}/deliveries/endpoints`}>{counted(more, "more endpoint")}</Link>
        </p>
      )}
    </Section>
  );
}

interface DeliveriesProps {
  number: number;
  host: string;
  status: string;
  words: string;
  organizationId: string;
}

/** A number of deliveries with its list. */
function Deliveries({ number, host, status, words, organizationId }: DeliveriesProps) {
  if (number === 0) return <>0</>;
  return (
    <Link to={`${organizationId}/deliveries?host=${encodeURIComponent(host)}&status=${status}`} class="number-link">
      {count(number)}
      <span class="vh">{` ${words} at ${host}`}</span>
    </Link>
  );
}

function LastError({ endpoint: { last_error: error } }: { endpoint: FailingEndpoint }) {
  if (error === null) return null;
  return (
    <>
      {outcomeText(error.outcome, error.http_status)}, <Time at={error.at} />
      {error.detail !== null && <span class="quiet small figure-detail">{error.detail}</span>}
    </>
  );
}

function Times({ templates, organizationId }: { templates: readonly TemplateTimes[]; organizationId: string }) {
  const columns: readonly Column<TemplateTimes>[] = [
    { key: "name", title: "Checklist", cell: (one) => one.template_name },
    { key: "runs", title: "Runs", end: true, cell: (one) => count(one.runs) },
    { key: "median", title: "Median", end: true, cell: (one) => <span class="nowrap">{duration(one.median_ms)}</span> },
    { key: "p90", title: "90 % within", end: true, cell: (one) => <span class="nowrap">{duration(one.p90_ms)}</span> },
  ];
  return (
    <Section title="Time to completion" lead={templates.length > 0 ? "From dispatch to submission, of the 1,000 runs completed last." : undefined}>
      {templates.length === 0 ? (
        <Empty title="No run is completed yet">
          <p>As soon as runs are completed, you see here how long each checklist takes.</p>
        </Empty>
      ) : (
        <DataTable caption="Time to completion" columns={columns} rows={templates} rowKey={(one) => one.template_id} to={(one) => `${organizationId}/runs?template=${one.template_id}&status=completed`} />
      )}
    </Section>
  );
}
