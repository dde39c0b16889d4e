/** The table as text or as a file, with its problems at the rows and cells. */
import { useId, useState } from "preact/hooks";

import { FieldError, Message } from "../../../kit/controls/messages";
import { TextAreaField } from "../../parts/fields";
import { count, counted } from "../../parts/progress";
import { decoded, MalformedFile } from "./cells";
import { COLUMNS, type Problem, type Table } from "./table";

const EXAMPLE = "reference;name;expires\nroom 101;Ida Lindqvist;2d\nroom 102;;2d";
const SHOWN_PROBLEMS = 50;
const SHOWN_ROWS = 5;
const LARGEST_BYTES = 8 * 1024 * 1024;
const MEANINGS: Readonly<Record<(typeof COLUMNS)[number], string>> = {
  reference: "your own reference, sent in every event",
  name: "who gets the link; only for your list and message",
  contact: "an address or a number; only for your list",
  expires: "when the link expires: 90s, 30m, 4h or 2d",
  webhook_url: "where this run’s events go",
  webhook_events: "which events, with spaces between them",
};

interface TableFieldProps {
  text: string;
  table: Table | null;
  error: string | undefined;
  onText(text: string): void;
}

export function TableField({ text, table, error, onText }: TableFieldProps) {
  const id = useId();
  const [unread, setUnread] = useState<string | null>(null);
  const read = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file === undefined) return;
    try {
      if (file.size > LARGEST_BYTES) throw new MalformedFile(0, "the file is larger than 8 MiB");
      onText(decoded(await file.arrayBuffer()).replace(/^\ufeff/, ""));
      setUnread(null);
    } catch (problem) {
      setUnread(problem instanceof MalformedFile ? `${problem.message.charAt(0).toUpperCase()}${problem.message.slice(1)}.` : "The file cannot be read.");
    }
    input.value = "";
  };
  return (
    <div class="many-table">
      <div class="field">
        <label for={`${id}-file`}>CSV file</label>
        <input id={`${id}-file`} class="input" type="file" accept=".csv,.tsv,.txt,text/csv" aria-invalid={unread !== null} aria-describedby={unread === null ? undefined : `${id}-unread`} onChange={(event) => void read(event.currentTarget)} />
        {unread !== null && <FieldError id={`${id}-unread`}>{unread}</FieldError>}
      </div>
      <TextAreaField
        name="table"
        label="Or paste the table"
        hint="Row 1 has the names of the columns. Rows of a spreadsheet can be pasted as they are."
        rows={8}
        mono
        placeholder={EXAMPLE}
        value={text}
        error={error}
        onInput={(next) => {
          setUnread(null);
          onText(next);
        }}
      />
      <details class="many-columns">
        <summary>Columns</summary>
        <dl class="facts">
          {COLUMNS.map((column) => [
            <dt key={column}>
              <code>{column}</code>
            </dt>,
            <dd key={`${column} means`}>{MEANINGS[column]}</dd>,
          ])}
        </dl>
        <p class="quiet small">All are optional. An empty cell takes the value of the form.</p>
      </details>
      <div role="status">{table !== null && <Checked table={table} />}</div>
    </div>
  );
}

function Checked({ table }: { table: Table }) {
  const { problems, rows, repeated } = table;
  if (problems.length === 0) {
    return (
      <>
        <Message tone="good" title={`${counted(rows.length, "row")} checked, no problems`}>
          {repeated.size > 0 && <p>{repeatedText(repeated)}</p>}
        </Message>
        <Rows table={table} numbers={rows.slice(0, SHOWN_ROWS).map((row) => row.number)} caption={rows.length > SHOWN_ROWS ? `The first ${SHOWN_ROWS} rows` : "The rows"} />
      </>
    );
  }
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  const inCells = [...new Set(shown.map((problem) => problem.row))].filter((row) => table.written.has(row));
  return (
    <>
      <Message tone="bad" title={`Fix ${counted(problems.length, "problem")} in the table`}>
        <ul class="prose-list">
          {shown
            .filter((problem) => !inCells.includes(problem.row))
            .map((problem, index) => (
              <li key={index}>{textOf(problem)}</li>
            ))}
        </ul>
        {problems.length > shown.length && <p>The first {shown.length} are shown.</p>}
      </Message>
      {inCells.length > 0 && <Rows table={table} numbers={inCells} caption="Rows with problems" />}
    </>
  );
}

function Rows({ table, numbers, caption }: { table: Table; numbers: readonly number[]; caption: string }) {
  return (
    <div class="table-frame many-preview" tabIndex={0} role="group" aria-label={caption}>
      <table>
        <caption class="quiet small">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {table.header.map((name, at) => (
              <th key={at} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {numbers.map((number) => {
            const own = table.problems.filter((problem) => problem.row === number);
            const ofRow = own.filter((problem) => problem.column === null);
            const cells = table.written.get(number) ?? [];
            return (
              <tr key={number}>
                <th scope="row" class="tabular">
                  {number}
                  <Problems problems={ofRow} />
                </th>
                {table.header.map((name, at) => (
                  <td key={at} dir="auto">
                    {cells[at]}
                    <Problems problems={own.filter((problem) => problem.column === name)} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Problems({ problems }: { problems: readonly Problem[] }) {
  const id = useId();
  return (
    <>
      {problems.map((problem, index) => (
        <FieldError key={index} id={`${id}-${index}`}>
          {problem.message}
        </FieldError>
      ))}
    </>
  );
}

function textOf({ row, column, message }: Problem): string {
  const place = [row === 0 ? "The table" : `Row ${row}`, ...(column === null ? [] : [`column ${column}`])].join(", ");
  return `${place}: ${message}.`;
}

function repeatedText(repeated: Table["repeated"]): string {
  const [[reference, rows] = ["", []]] = repeated;
  const more = repeated.size > 1 ? `, and ${count(repeated.size - 1)} more` : "";
  return `Several rows have the same reference: “${reference}” in rows ${rows.slice(0, 5).join(", ")}${rows.length > 5 ? ", …" : ""}${more}.`;
}
