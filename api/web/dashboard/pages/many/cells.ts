/** Reads the records of a delimited text file as spreadsheets write it, as `checklist_cli.bulk.cells` does. */

const DELIMITERS = [",", ";", "\t"];
const SEPARATOR_LINE = /^"?sep=([^\r\n])"?(?:\r\n|\r|\n)/;
const QUOTED = /"(?:[^"]|"")*"/g;

export interface Cells {
  readonly delimiter: string;
  /** The first is row 1. */
  readonly records: readonly (readonly string[])[];
}

/** `row` counts from 1, as in a spreadsheet. */
export class MalformedFile extends Error {
  constructor(
    readonly row: number,
    message: string,
  ) {
    super(message);
  }
}

/** The text of an uploaded file: UTF-8, or UTF-16 with a byte order mark. Throws MalformedFile. */
export function decoded(content: ArrayBuffer): string {
  const [first, second] = new Uint8Array(content.slice(0, 2));
  const encoding = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(content);
  } catch {
    throw new MalformedFile(0, "the text is not UTF-8; in Excel, save as “CSV UTF-8”");
  }
}

/** Throws MalformedFile. */
export function readCells(given: string): Cells {
  const whole = given.replace(/^\ufeff/, "");
  const named = SEPARATOR_LINE.exec(whole);
  const text = named === null ? whole : whole.slice(named[0].length);
  const delimiter = named?.[1] ?? delimiterOf(text);
  return { delimiter, records: recordsOf(text, delimiter) };
}

function delimiterOf(text: string): string {
  const first = text.slice(0, 100_000).replace(QUOTED, "").split(/[\r\n]/, 1)[0] ?? "";
  const counts = DELIMITERS.map((each) => first.split(each).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ",";
}

function recordsOf(text: string, delimiter: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  let at = 0;
  const malformed = () => new MalformedFile(records.length + 1, 'a quotation mark is not closed, or text follows it; write " inside a quoted cell as ""');
  const endRecord = () => {
    records.push(record);
    record = [];
  };
  while (at < text.length) {
    let cell: string;
    if (text[at] === '"') {
      let end = at + 1;
      cell = "";
      for (;;) {
        const quote = text.indexOf('"', end);
        if (quote < 0) throw malformed();
        cell += text.slice(end, quote);
        end = quote + 1;
        if (text[end] !== '"') break;
        cell += '"';
        end += 1;
      }
      at = end;
      const next = text[at];
      if (next !== undefined && next !== delimiter && next !== "\r" && next !== "\n") throw malformed();
    } else {
      const start = at;
      while (at < text.length && text[at] !== delimiter && text[at] !== "\r" && text[at] !== "\n") at += 1;
      cell = text.slice(start, at);
    }
    record.push(cell);
    if (text[at] === delimiter) {
      at += 1;
      if (at < text.length && text[at] !== "\r" && text[at] !== "\n") continue;
      record.push("");
      if (at === text.length) break;
    }
    if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
    at += 1;
    endRecord();
  }
  if (record.length > 0) endRecord();
  return records;
}
