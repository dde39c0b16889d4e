/** The links of a job: as CSV, as QR sheet, and as a message to copy or share for each row. */
import { useState } from "preact/hooks";

import { Icon } from "../../../kit/controls/icon";
import { saveFile } from "../../../kit/save_file";
import { CopyButton } from "../../parts/copy";
import { TextAreaField } from "../../parts/fields";
import { Section } from "../../parts/page_head";
import { Pagination } from "../../parts/pagination";
import { type Column, DataTable } from "../../parts/table";
import { query } from "../../router";
import { isDispatched } from "./dispatching";
import type { Job, Results } from "./kept_job";
import { cellOf, firstMessage, linksAsCsv, messageFor, PLACEHOLDERS, titleOf } from "./messages";
import { QrSheet } from "./qr_sheet";
import type { TableRow } from "./table";

const PER_PAGE = 25;

interface LinksProps {
  job: Job;
  results: Results;
  organizationId: string;
}

export interface LinkedRow {
  readonly row: TableRow;
  readonly runId: string;
  readonly link: string;
}

export function Links({ job, results, organizationId }: LinksProps) {
  const [message, setMessage] = useState(() => firstMessage(job));
  const linked = job.rows.flatMap((row): LinkedRow[] => {
    const result = results.get(row.number);
    return isDispatched(result) ? [{ row, runId: result.runId, link: result.link }] : [];
  });
  const page = Math.max(1, Number(query.value.get("page")) || 1);
  const textOf = ({ row, link }: LinkedRow) => messageFor(message, job, row, link);
  const columns: Column<LinkedRow>[] = [
    { key: "title", title: "Row", cell: ({ row }) => titleOf(job, row) },
    ...(job.copied.includes("contact") ? [{ key: "contact", title: "Contact", cell: ({ row }: LinkedRow) => <span dir="auto">{cellOf(job, row, "contact")}</span> }] : []),
    { key: "link", title: "Link", cell: ({ link }) => <code class="small many-link">{link}</code> },
    {
      key: "give",
      title: "Give",
      silent: true,
      end: true,
      cell: (one) => (
        <div class="many-give">
          <CopyButton text={textOf(one)} label={`Copy the message for ${titleOf(job, one.row)}`} />
          <ShareButton text={textOf(one)} title={job.templateName} label={`Share the message for ${titleOf(job, one.row)}`} />
        </div>
      ),
    },
  ];
  return (
    <>
      <Section
        title="Links"
        lead="Anyone with a link can answer its run. Send each to one person only."
        actions={
          <button type="button" class="button" onClick={() => saveFile(new Blob([linksAsCsv(job, results)], { type: "text/csv" }), "links.csv")}>
            <Icon name="download" />
            Save as CSV
          </button>
        }
      >
        <TextAreaField
          name="message"
          label="Message"
          hint={`Replaced for each row: ${PLACEHOLDERS.map((name) => `{${name}}`).join(", ")}`}
          rows={3}
          value={message}
          onInput={setMessage}
        />
        <div class="actions">
          <CopyButton text={linked.map(textOf).join("\n\n")} label={linked.length === 1 ? "Copy the message" : `Copy all ${linked.length} messages`} labelled />
        </div>
        <DataTable caption="Links" columns={columns} rows={linked.slice((page - 1) * PER_PAGE, page * PER_PAGE)} rowKey={({ runId }) => runId} to={({ runId }) => `${organizationId}/runs/${runId}`} />
        <Pagination label="Pages of links" pagination={{ total: linked.length, page, per_page: PER_PAGE, next_page: page * PER_PAGE < linked.length ? page + 1 : null }} />
      </Section>
      <QrSheet job={job} linked={linked} organizationId={organizationId} />
    </>
  );
}

/** Only where the device has a share sheet. */
function ShareButton({ text, title, label }: { text: string; title: string; label: string }) {
  if (typeof navigator.share !== "function") return null;
  const share = () => {
    // Rejected when the person closes the sheet.
    navigator.share({ title, text }).catch(() => undefined);
  };
  return (
    <button type="button" class="button button-quiet button-icon" aria-label={label} title={label} onClick={share}>
      <Icon name="share" />
    </button>
  );
}
