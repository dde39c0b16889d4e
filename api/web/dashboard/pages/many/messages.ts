/** What is given away of a job: links as CSV, and a message for each person. */
import { isDispatched } from "./dispatching";
import type { Job, Results } from "./kept_job";
import type { TableRow } from "./table";

const FORMULA = /^["\s]*[=+\-@＝＋－＠]/;
const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;
const SEPARATORS = /([;|\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029])/;

export const PLACEHOLDERS = ["name", "reference", "checklist", "link"] as const;

/** A new job's message: with a name only if the table has names. */
export function firstMessage(job: Job): string {
  return `Hello${job.copied.includes("name") ? " {name}" : ""}, please fill in “{checklist}”: {link}`;
}

export function messageFor(template: string, job: Job, row: TableRow, link: string): string {
  const values: Readonly<Record<string, string>> = { name: cellOf(job, row, "name"), reference: row.reference, checklist: job.templateName, link };
  // Without a name, "Hello {name}," is "Hello,".
  return template.replace(/( ?)\{(\w+)\}/g, (whole, space: string, name: string) => (values[name] === undefined ? whole : values[name] === "" ? "" : space + values[name]));
}

export function cellOf(job: Job, row: TableRow, name: string): string {
  return row.cells[job.copied.indexOf(name)] ?? "";
}

/** What identifies a row: reference and name, or its number. */
export function titleOf(job: Job, row: TableRow): string {
  return [row.reference, cellOf(job, row, "name")].filter(Boolean).join(", ") || `Row ${row.number}`;
}

/** A row for each row of the table, for Excel: with the table's delimiter, and commas for a pasted table. */
export function linksAsCsv(job: Job, results: Results): string {
  const delimiter = job.delimiter === "\t" ? "," : job.delimiter;
  const rows = job.rows.map((row) => {
    const result = results.get(row.number);
    const found = isDispatched(result) ? ["dispatched", ...row.cells, result.runId, result.link, result.expiresAt ?? "", ""] : [result === undefined ? "waiting" : "refused", ...row.cells, "", "", "", result?.error ?? ""];
    return [String(row.number), ...found];
  });
  const records = [["row", "status", ...job.copied, "run_id", "link", "expires_at", "error"], ...rows];
  return `\ufeff${records.map((cells) => `${cells.map((cell) => csvCell(cell, delimiter)).join(delimiter)}\r\n`).join("")}`;
}

function csvCell(text: string, delimiter: string): string {
  const safe = withoutFormulas(text);
  return safe.includes(delimiter) || /["\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Puts an apostrophe before each formula that could begin a cell, as exports do. */
export function withoutFormulas(text: string): string {
  const parts = text.split(SEPARATORS).map((part, index) => (index % 2 === 1 || !FORMULA.test(part) || NUMBER.test(part.trim()) ? part : `'${part}`));
  return /^[\t\r\n]/.test(text) ? `'${parts.join("")}` : parts.join("");
}
