/**
 * A JSON reader that returns the value with the line number of each part, or the position and reason of a syntax error.
 */

export type ReadJson =
  | { readonly ok: true; readonly value: unknown; readonly lines: ReadonlyMap<string, number> }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly message: string };

class Broken extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS: readonly (readonly [string, unknown])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const DEEPEST = 200;

/** Line numbers start at 1. Paths are those of the service's problems: `sections[0].steps[2].label`; "" is the root. */
export function readJson(text: string): ReadJson {
  const starts = lineStarts(text);
  const reader = new Reader(text, starts);
  try {
    return { ok: true, value: reader.whole(), lines: reader.lines };
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    const line = lineAt(starts, error.at);
    return { ok: false, line, column: error.at - (starts[line - 1] ?? 0) + 1, message: error.message };
  }
}

/** The line of the value at `path`, or of its nearest existing parent. */
export function lineOf(lines: ReadonlyMap<string, number>, path: string): number {
  for (let part = path; ; part = part.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, "")) {
    const line = lines.get(part);
    if (line !== undefined) return line;
    if (part === "" || part === part.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, "")) return 1;
  }
}

class Reader {
  readonly lines = new Map<string, number>();
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly starts: readonly number[],
  ) {}

  whole(): unknown {
    const value = this.value("", 0);
    this.skip();
    if (this.at < this.text.length) throw new Broken(this.at, "There is more behind the end of the template.");
    return value;
  }

  private value(path: string, depth: number): unknown {
    this.skip();
    if (!this.lines.has(path)) this.lines.set(path, lineAt(this.starts, this.at));
    if (depth > DEEPEST) throw new Broken(this.at, "This is nested too deeply.");
    const sign = this.text[this.at];
    if (sign === "{") return this.object(path, depth);
    if (sign === "[") return this.list(path, depth);
    if (sign === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (!this.text.startsWith(word, this.at)) continue;
      this.at += word.length;
      return value;
    }
    const number = this.match(NUMBER);
    if (number !== null) return JSON.parse(number);
    throw new Broken(this.at, sign === undefined ? "The text ends where a value is missing." : `A value is missing here, in front of ${quoted(sign)}.`);
  }

  private object(path: string, depth: number): unknown {
    const found: [string, unknown][] = [];
    const names = new Set<string>();
    this.at += 1;
    this.skip();
    if (this.take("}")) return {};
    for (;;) {
      this.skip();
      const start = this.at;
      if (this.text[this.at] !== '"') throw new Broken(start, this.text[start] === "}" ? "There is a comma too many in front of this }." : "The name of a field is missing here, in double quotes.");
      const name = this.string();
      if (names.has(name)) throw new Broken(start, `The field ${quoted(name)} is there twice.`);
      names.add(name);
      const inner = path === "" ? name : `${path}.${name}`;
      this.lines.set(inner, lineAt(this.starts, start));
      this.skip();
      if (!this.take(":")) throw new Broken(this.at, `A colon is missing behind ${quoted(name)}.`);
      found.push([name, this.value(inner, depth + 1)]);
      this.skip();
      if (this.take("}")) return Object.fromEntries(found);
      if (!this.take(",")) throw new Broken(this.at, `A comma or } is missing behind the value of ${quoted(name)}.`);
    }
  }

  private list(path: string, depth: number): unknown[] {
    const found: unknown[] = [];
    this.at += 1;
    this.skip();
    if (this.take("]")) return found;
    for (;;) {
      this.skip();
      if (this.text[this.at] === "]") throw new Broken(this.at, "There is a comma too many in front of this ].");
      found.push(this.value(`${path}[${found.length}]`, depth + 1));
      this.skip();
      if (this.take("]")) return found;
      if (!this.take(",")) throw new Broken(this.at, "A comma or ] is missing in this list.");
    }
  }

  private string(): string {
    const start = this.at;
    const found = this.match(STRING);
    if (found === null) throw new Broken(start, "This text has no end on its line, or has a sign in it that JSON writes otherwise.");
    return JSON.parse(found) as string;
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null || found[0] === "") return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  private skip(): void {
    this.match(SPACE);
  }

  private take(sign: string): boolean {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }
}

function quoted(text: string): string {
  return `“${text}”`;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
