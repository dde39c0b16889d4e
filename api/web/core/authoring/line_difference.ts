/** Line-by-line difference of two texts. */

export interface DifferentLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

const AROUND = 3;
/** Above this number of line pairs, a block is shown as removed and added as a whole. */
const MAX_PAIRS = 4_000_000;

/** Blocks of differences with a few unchanged lines of context; empty if the texts are equal. */
export function lineDifference(before: string, after: string): DifferentLine[][] {
  return blocksOf(allLines(before.split("\n"), after.split("\n")));
}

function allLines(old: readonly string[], now: readonly string[]): DifferentLine[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const same = (lines: readonly string[]) => lines.map((text): DifferentLine => ({ kind: "same", text }));
  return [...same(old.slice(0, start)), ...between(old.slice(start, old.length - end), now.slice(start, now.length - end)), ...same(end === 0 ? [] : old.slice(-end))];
}

/** Compares by the longest common subsequence. */
function between(old: readonly string[], now: readonly string[]): DifferentLine[] {
  const [rows, columns] = [old.length, now.length];
  const removed = old.map((text): DifferentLine => ({ kind: "removed", text }));
  const added = now.map((text): DifferentLine => ({ kind: "added", text }));
  if (rows === 0 || columns === 0 || rows * columns > MAX_PAIRS) return [...removed, ...added];
  const width = columns + 1;
  const best = new Uint16Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      const here = row * width + column;
      best[here] = old[row] === now[column] ? (best[here + width + 1] ?? 0) + 1 : Math.max(best[here + width] ?? 0, best[here + 1] ?? 0);
    }
  }
  const lines: DifferentLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const here = row * width + column;
    if (row < rows && column < columns && old[row] === now[column]) {
      lines.push({ kind: "same", text: old[row] ?? "" });
      row += 1;
      column += 1;
    } else if (column >= columns || (row < rows && (best[here + width] ?? 0) >= (best[here + 1] ?? 0))) {
      lines.push(removed[row] ?? { kind: "removed", text: "" });
      row += 1;
    } else {
      lines.push(added[column] ?? { kind: "added", text: "" });
      column += 1;
    }
  }
  return lines;
}

function blocksOf(lines: readonly DifferentLine[]): DifferentLine[][] {
  const blocks: DifferentLine[][] = [];
  let until = -1;
  for (const [index, line] of lines.entries()) {
    if (line.kind === "same") continue;
    const from = Math.max(0, index - AROUND);
    if (from > until + 1 || blocks.length === 0) blocks.push([]);
    const next = Math.min(lines.length - 1, index + AROUND);
    blocks.at(-1)?.push(...lines.slice(Math.max(from, until + 1), next + 1));
    until = next;
  }
  return blocks;
}
