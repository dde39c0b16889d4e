/**
 * Sends requests and never throws: a missing response is a result, too. Requests time out; an upload times out only
 * when it makes no progress.
 */
import type { JsonValue } from "../../core/types";
import type { ApiRequest } from "./requests";
import type { Timers } from "./timers";
import type { Reply } from "./verdict";

export type Send = (request: ApiRequest, progress?: (share: number) => void) => Promise<Reply>;

const ANSWER_WITHIN_MS = 20_000;
const UPLOAD_MOVES_WITHIN_MS = 30_000;
/** After the last byte the service decodes the photo, which may be queued behind others. */
const UPLOAD_ANSWER_WITHIN_MS = 90_000;

export function httpTransport(fetcher: typeof fetch, timers: Timers): Send {
  return (request, progress) => {
    const { blob } = request;
    const watched = blob !== undefined && progress !== undefined && typeof XMLHttpRequest === "function";
    return watched ? upload(request, blob, progress, timers) : exchange(request, fetcher, timers);
  };
}

async function exchange(request: ApiRequest, fetcher: typeof fetch, timers: Timers): Promise<Reply> {
  const limit = (request.blob === undefined ? ANSWER_WITHIN_MS : UPLOAD_ANSWER_WITHIN_MS) + (request.waitMs ?? 0);
  const aborter = new AbortController();
  const abort = () => aborter.abort();
  request.signal?.addEventListener("abort", abort);
  const timer = timers.set(() => aborter.abort(), limit);
  // Not every fetch aborts at once, and none may block the queue for longer.
  const tooLate = new Promise<Reply>((resolve) => {
    aborter.signal.addEventListener("abort", () => resolve({ kind: "network" }));
  });
  try {
    return await Promise.race([fetched(request, fetcher, aborter.signal), tooLate]);
  } finally {
    timers.clear(timer);
    request.signal?.removeEventListener("abort", abort);
  }
}

async function fetched(request: ApiRequest, fetcher: typeof fetch, signal: AbortSignal): Promise<Reply> {
  try {
    const body = request.blob ?? (request.json === undefined ? null : JSON.stringify(request.json));
    const response = await fetcher(request.url, {
      method: request.method,
      headers: headersOf(request),
      body,
      signal,
      cache: "no-store",
      credentials: request.session ? "same-origin" : "omit",
      referrerPolicy: "no-referrer",
      // The service never redirects; a captive portal does.
      redirect: "error",
    });
    return httpReply(response.status, await response.text(), (name) => response.headers.get(name));
  } catch {
    return { kind: "network" };
  }
}

/** fetch does not report upload progress. XMLHttpRequest does, but always sends cookies to its own origin. */
function upload(request: ApiRequest, blob: Blob, progress: (share: number) => void, timers: Timers): Promise<Reply> {
  return new Promise((resolve) => {
    const exchange = new XMLHttpRequest();
    let timer = timers.set(() => exchange.abort(), UPLOAD_MOVES_WITHIN_MS);
    const extend = (limit: number) => {
      timers.clear(timer);
      timer = timers.set(() => exchange.abort(), limit);
    };
    const end = (reply: Reply) => {
      timers.clear(timer);
      resolve(reply);
    };
    exchange.open(request.method, request.url);
    for (const [name, value] of Object.entries(headersOf(request))) exchange.setRequestHeader(name, value);
    exchange.upload.onprogress = (event) => {
      extend(UPLOAD_MOVES_WITHIN_MS);
      if (event.lengthComputable && event.total > 0) progress(event.loaded / event.total);
    };
    exchange.upload.onload = () => {
      extend(UPLOAD_ANSWER_WITHIN_MS);
      progress(1);
    };
    exchange.onerror = exchange.onabort = () => end({ kind: "network" });
    exchange.onload = () => {
      end(httpReply(exchange.status, exchange.responseText, (name) => exchange.getResponseHeader(name)));
    };
    exchange.send(blob);
  });
}

export function headersOf(request: ApiRequest): Record<string, string> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (request.token !== null) headers["Authorization"] = `Executor ${request.token}`;
  if (request.member !== undefined) headers["Answering-Member"] = request.member;
  if (request.json !== undefined) headers["Content-Type"] = "application/json";
  if (request.blob !== undefined) headers["Content-Type"] = request.blob.type || "application/octet-stream";
  return headers;
}

function httpReply(status: number, text: string, header: (name: string) => string | null): Reply {
  const date = new Date(header("Date") ?? "");
  return {
    kind: "http",
    status,
    body: jsonObject(text),
    retryAfter: header("Retry-After"),
    date: Number.isNaN(date.getTime()) ? null : date,
  };
}

function jsonObject(text: string): { [name: string]: JsonValue } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as { [name: string]: JsonValue }) : null;
  } catch {
    return null;
  }
}
