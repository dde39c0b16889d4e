/**
 * Downloads files that the service streams: shows the progress and discards incomplete files. A plain link would show
 * neither progress nor errors.
 */
import { saveFile } from "../kit/save_file";
import { ApiError, open } from "./client";

const TIMEOUT_MS = 3_600_000;
/** A run id at the beginning of a row, or as a member of a document. */
const RUN_ID = /(?:^|\n|"run_id":")(r-[0-9a-f]{8}-[0-9a-f-]{27})/g;
/** Longer than a match: a match that is split between two chunks is found with the second one. */
const OVERLAP = 64;

export interface DownloadProgress {
  readonly bytes: number;
  /** Number of different runs received. */
  readonly runs: number;
  /** Expected number of runs; null if the file does not contain runs. */
  readonly total: number | null;
}

/** Fetches the file and saves it under the name that the service gives. Throws ApiError. */
export async function download(path: string, report: (coming: DownloadProgress) => void, signal: AbortSignal): Promise<void> {
  const response = await open(path, { signal, within: TIMEOUT_MS });
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
    report({ bytes, runs: counter?.count ?? 0, total });
  }
  saveFile(new Blob(parts, { type: response.headers.get("Content-Type") ?? "" }), nameOf(response) ?? "export");
}

type Chunk = ReadableStreamReadResult<Uint8Array<ArrayBuffer>>;

async function read(reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined, signal: AbortSignal): Promise<Chunk> {
  try {
    return reader === undefined ? { done: true, value: undefined } : await reader.read();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError(0, "broken_off", "The download is incomplete and was not saved. Try again.");
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
    this.rest = text.slice(-OVERLAP);
  }
}

function nameOf(response: Response): string | null {
  return /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? null;
}

function numberOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) : null;
}
