/**
 * Checks a table of runs to dispatch as a whole. The command line reads the same tables (`checklist_cli.bulk.table`);
 * both run the cases of `tests/vectors/dispatch_tables.json`.
 */
import { MAX_EXPIRY_HOURS } from "../../../core/bounds";
import { EVENTS } from "../deliveries_text";
import { MalformedFile, readCells } from "./cells";

export const COLUMNS = ["reference", "name", "contact", "expires", "webhook_url", "webhook_events"] as const;
const ALIASES: Readonly<Record<string, string>> = { executor_ref: "reference", ref: "reference", expiry: "expires" };
const COPIED = ["reference", "name", "contact"];
export const MAX_ROWS = 5_000;
const MAX_REFERENCE = 200;
const DURATION = /^([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h|d)$/;
/** NUL and half of a surrogate pair, which the service cannot store. */
const UNSTORABLE = /\0|\p{Surrogate}/u;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** `row` counts from 1, the header, as in a spreadsheet; 0: the table as a whole. */
export interface Problem {
  readonly row: number;
  readonly column: string | null;
  readonly code: string;
  readonly message: string;
}

/** The values of empty cells. */
export interface Defaults {
  readonly hours: number | null;
  readonly url: string | null;
  readonly events: readonly string[];
  readonly hasSecret: boolean;
}

export interface TableRow {
  readonly number: number;
  /** The cells that the result repeats, in the order of `copied`. */
  readonly cells: readonly string[];
  readonly reference: string;
  readonly hours: number | null;
  readonly url: string | null;
  readonly events: readonly string[];
}

export interface Table {
  readonly rows: readonly TableRow[];
  readonly copied: readonly string[];
  /** For the preview: names of the columns, and each row's cells as written. */
  readonly header: readonly string[];
  readonly written: ReadonlyMap<number, readonly string[]>;
  readonly delimiter: string;
  /** References of several rows, with them. */
  readonly repeated: ReadonlyMap<string, readonly number[]>;
  readonly problems: readonly Problem[];
}

/** If there are problems, nothing of the table may be dispatched. */
export function readTable(text: string, defaults: Defaults): Table {
  try {
    const { delimiter, records } = readCells(text);
    const [first, ...rest] = records;
    if (first === undefined) return broken({ row: 0, column: null, code: "empty", message: "the table is empty; row 1 has the names of the columns" });
    const { header, problems } = headerOf(first);
    if (problems.length > 0) return broken(...problems);
    const copied = header.filter((name) => COPIED.includes(name));
    const rows: TableRow[] = [];
    const written = new Map<number, readonly string[]>();
    const found: Problem[] = [];
    rest.forEach((record, index) => {
      if (!record.some((cell) => cell.trim() !== "")) return;
      const number = index + 2;
      written.set(number, record);
      const width = widthProblems(number, record, header);
      if (width.length > 0) return void found.push(...width);
      const cells = new Map(header.map((name, at) => [name, (record[at] ?? "").trim()]));
      found.push(...cellProblems(number, cells, defaults));
      rows.push(rowOf(number, cells, copied, defaults));
    });
    if (rows.length === 0 && found.length === 0) found.push({ row: 0, column: null, code: "empty", message: "there is no row below the names of the columns" });
    if (rows.length > MAX_ROWS) found.push({ row: 0, column: null, code: "too_many", message: `there are ${rows.length} rows; at most ${MAX_ROWS} are possible here. The command line takes more` });
    return { rows, copied, header, written, delimiter, repeated: repeatedOf(rows), problems: found };
  } catch (error) {
    if (!(error instanceof MalformedFile)) throw error;
    return broken({ row: error.row, column: null, code: "malformed", message: error.message });
  }
}

/** The body of `POST runs`. */
export function bodyOf(row: TableRow, templateId: string, secret: string): Record<string, unknown> {
  return {
    template_id: templateId,
    ...(row.reference === "" ? {} : { executor_ref: row.reference }),
    ...(row.hours === null ? {} : { expires_in_hours: row.hours }),
    ...(row.url === null ? {} : { webhook: { url: row.url, events: row.events, secret } }),
  };
}

function broken(...problems: Problem[]): Table {
  return { rows: [], copied: [], header: [], written: new Map(), delimiter: ",", repeated: new Map(), problems };
}

function headerOf(record: readonly string[]): { header: string[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const header = record.map((cell) => {
    const plain = cell.trim().toLowerCase().replace(/[\s-]+/g, "_");
    const name = ALIASES[plain] ?? plain;
    if (name !== "" && !COLUMNS.some((one) => one === name)) problems.push({ row: 1, column: cell.trim(), code: "unknown_column", message: `not a column; the first row names the columns, out of ${COLUMNS.join(", ")}` });
    return name;
  });
  for (const name of new Set(header)) {
    if (name !== "" && header.indexOf(name) !== header.lastIndexOf(name)) problems.push({ row: 1, column: name, code: "repeated_column", message: "there are several of this name" });
  }
  if (header.every((name) => name === "")) problems.push({ row: 1, column: null, code: "no_columns", message: `the columns have no names; they are ${COLUMNS.join(", ")}` });
  return { header, problems };
}

function widthProblems(row: number, record: readonly string[], header: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  if (record.length < header.length) problems.push({ row, column: null, code: "width", message: `has ${record.length} of ${header.length} cells` });
  else if (record.slice(header.length).some((cell) => cell.trim() !== ""))
    problems.push({ row, column: null, code: "width", message: `has ${record.length} cells instead of ${header.length}; quote a cell that contains the delimiter` });
  if (header.some((name, at) => name === "" && (record[at] ?? "").trim() !== "")) problems.push({ row, column: null, code: "unnamed_column", message: "a cell is in a column without a name" });
  return problems;
}

function cellProblems(row: number, cells: ReadonlyMap<string, string>, defaults: Defaults): Problem[] {
  const problems: Problem[] = [];
  const wrong = (column: string, code: string, message: string) => problems.push({ row, column, code, message });
  for (const [column, cell] of cells) if (UNSTORABLE.test(cell)) wrong(column, "text", "must not contain NUL characters or half of a surrogate pair");
  const reference = [...(cells.get("reference") ?? "")].length;
  if (reference > MAX_REFERENCE) wrong("reference", "too_long", `${reference} characters; at most ${MAX_REFERENCE} are possible`);
  const expires = cells.get("expires") ?? "";
  const hours = hoursOf(expires);
  if (expires !== "" && hours === null) wrong("expires", "duration", "must be a positive duration, as 90s, 30m, 4h or 2d");
  else if (hours !== null && hours > MAX_EXPIRY_HOURS) wrong("expires", "duration", `must be at most ${MAX_EXPIRY_HOURS} hours`);
  const url = cells.get("webhook_url") ?? "";
  const named = cells.get("webhook_events") ?? "";
  if (named !== "") {
    const events = eventsOf(named);
    const unknown = events.find((event) => !EVENTS.some((one) => one.value === event));
    if (unknown !== undefined && named !== "*") wrong("webhook_events", "events", `must name events out of ${EVENTS.map((one) => one.value).join(", ")}, or be exactly *; not “${unknown}”`);
    else if (new Set(events).size < events.length) wrong("webhook_events", "events", "names an event twice");
    if (url === "" && defaults.url === null) wrong("webhook_events", "no_url", "events need a webhook_url");
  }
  if (url !== "") {
    if (!isUrl(url)) wrong("webhook_url", "url", "must be an address that begins with https://");
    if (!defaults.hasSecret) wrong("webhook_url", "no_secret", "a webhook needs a secret: choose “Send events to my server”");
  }
  return problems;
}

function rowOf(number: number, cells: ReadonlyMap<string, string>, copied: readonly string[], defaults: Defaults): TableRow {
  const cell = (name: string) => cells.get(name) ?? "";
  return {
    number,
    cells: copied.map(cell),
    reference: cell("reference"),
    hours: cell("expires") === "" ? defaults.hours : hoursOf(cell("expires")),
    url: cell("webhook_url") === "" ? defaults.url : cell("webhook_url"),
    events: cell("webhook_events") === "" ? defaults.events : eventsOf(cell("webhook_events")),
  };
}

/** Hours of `4h`, `1.5 d`; null if it is no positive duration. */
function hoursOf(text: string): number | null {
  const found = DURATION.exec(text.replaceAll(" ", ""));
  const seconds = found === null ? 0 : Number(found[1]) * (SECONDS[found[2] ?? ""] ?? 0);
  return seconds > 0 ? seconds / 3_600 : null;
}

function eventsOf(text: string): string[] {
  return text.split(/[,\s]+/).filter((event) => event !== "");
}

function isUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

function repeatedOf(rows: readonly TableRow[]): Map<string, number[]> {
  const numbers = new Map<string, number[]>();
  for (const { reference, number } of rows) if (reference !== "") numbers.set(reference, [...(numbers.get(reference) ?? []), number]);
  return new Map([...numbers].filter(([, found]) => found.length > 1));
}
