/**
 * Files that the service makes while they are read: what has come so far is told, and a file that broke off is not kept.
 * A link to the file would show neither, and an error in its place.
 */
import { ApiError, open } from "./client";

const AT_MOST_MS = 3_600_000;
const REVOKED_AFTER_MS = 60_000;
/** The id of a run at the beginning of a row, or as a member of a document. */
const RUN_ID = /(?:^|\n|"run_id":")(r-[0-9a-f]{8}-[0-9a-f-]{27})/g;
/** More than a match is long: one that is cut by the end of a chunk is found with the next. */
const CARRIED = 64;

export interface Coming {
  readonly bytes: number;
  /** Different runs in what has come. */
  readonly runs: number;
  /** How many there will be; null: it is not a file of runs. */
  readonly total: number | null;
}

/** Fetches the file and gives it to the browser to save, under the service's name for it. Throws ApiError. */
export async function download(path: string, tell: (coming: Coming) => void, signal: AbortSignal): Promise<void> {
  const response = await open(path, { signal, within: AT_MOST_MS });
  const total = numberOf(response.headers.get("Export-Runs"));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const counter = total === null ? null : new RunCounter();
  let bytes = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done, value } = await read(reader, signal);
    if (done || value === undefined) break;
    parts.push(value);
    bytes += value.byteLength;
    counter?.take(value);
    tell({ bytes, runs: counter?.count ?? 0, total });
  }
  save(new Blob(parts, { type: response.headers.get("Content-Type") ?? "" }), nameOf(response) ?? "export");
}

type Chunk = ReadableStreamReadResult<Uint8Array<ArrayBuffer>>;

async function read(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined, signal: AbortSignal): Promise<Chunk> {
  try {
    return reader === undefined ? { done: true, value: undefined } : await reader.read();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, "broken_off", "The file broke off before its end, and was not saved. Please try again.");
  }
}

class RunCounter {
  count = 0;
  private readonly decoder = new TextDecoder();
  private rest = "";
  private last = "";

  take(chunk: Uint8Array): void {
    const text = this.rest + this.decoder.decode(chunk, { stream: true });
    for (const [, id] of text.matchAll(RUN_ID)) {
      if (id === undefined || id === this.last) continue;
      this.last = id;
      this.count += 1;
    }
    this.rest = text.slice(-CARRIED);
  }
}

function save(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKED_AFTER_MS);
}

function nameOf(response: Response): string | null {
  return /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? null;
}

function numberOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) : null;
}
