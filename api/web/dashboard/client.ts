/**
 * Calls of the dashboard's API. What goes wrong is an `ApiError` that can be shown as it is. When the session has ended, the
 * frame asks to sign in without taking away what is on the screen, and the call that was refused waits and is repeated.
 */
import { signal } from "@preact/signals";

import { noteServerTime } from "./clock";
import { BASE } from "./router";

const ANSWER_WITHIN_MS = 20_000;

export interface FieldProblem {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export class ApiError extends Error {
  constructor(
    /** 0: there was no answer. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problems: readonly FieldProblem[] = [],
    readonly requestId: string | null = null,
    readonly details: unknown = null,
    /** Seconds, when the service said when to come again. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** Set by the session; every write brings it. */
export const csrfToken = signal("");
/** Whether an answer said that there is no session any more; the frame then asks to sign in again. */
export const signedOut = signal(false);

/** How many times the person has to be asked: for the first refusal, and for each write after it. */
export const refusals = signal(0);

const waiting = new Set<(back: boolean) => void>();

/** The calls that wait for a session go on (`back`), or fail with the refusal they met. */
export function resume(back: boolean): void {
  signedOut.value = false;
  for (const go of waiting) go(back);
  waiting.clear();
}

/**
 * Resolves when somebody has signed in again, with false when nobody will. What goes on in the background does not ask
 * again somebody who has put the question aside.
 */
function signedInAgain(given: AbortSignal | undefined, background: boolean): Promise<boolean> {
  if (!signedOut.peek() || !background) refusals.value += 1;
  signedOut.value = true;
  return new Promise((resolve) => {
    waiting.add(resolve);
    given?.addEventListener("abort", () => {
      waiting.delete(resolve);
      resolve(false);
    });
  });
}

/** How a stale CSRF token is renewed: another tab has signed in anew. Set by `session.ts`; false: it is somebody else. */
export const renewal: { renew(): Promise<boolean> } = { renew: () => Promise.resolve(false) };

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** For the calls that sign in: a refusal is theirs to tell. */
  readonly alone?: boolean;
  /** For what takes long: milliseconds until an answer is not waited for any more. */
  readonly within?: number;
}

export interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** `call("org-.../runs")` asks `/dashboard/api/org-.../runs`. Throws ApiError. */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  return (await exchange<T>(path, options)).body;
}

/** As `call`, with the headers of the answer. */
export async function exchange<T>(path: string, options: Call = {}): Promise<Answer<T>> {
  const response = await open(path, options);
  const body: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  return { body: body as T, headers: response.headers };
}

/** As `call`, with the answer's body still to be read: for files. Say how long that may take with `within`. */
export async function open(path: string, options: Call = {}): Promise<Response> {
  let renewed = false;
  for (;;) {
    const response = await send(path, options);
    if (response.ok) return response;
    const error = errorOf(response, await response.json().catch(() => null));
    if (options.alone) throw error;
    if (error.code === "sign_in_required" && csrfToken.peek() !== "") {
      if (await signedInAgain(options.signal, (options.method ?? "GET") === "GET")) continue;
    } else if (error.code === "forbidden" || error.code === "not_found") {
      // A role, or the whole membership, may have been taken away: the page is told what there is now.
      void renewal.renew();
    } else if (error.code === "request_forged" && !renewed) {
      renewed = true;
      if (await renewal.renew()) continue;
    }
    throw error;
  }
}

async function send(path: string, { method = "GET", json, headers = {}, signal: given, within = ANSWER_WITHIN_MS }: Call): Promise<Response> {
  const limit = AbortSignal.timeout(within);
  try {
    const response = await fetch(new URL(`api/${path}`, BASE), {
      method,
      headers: {
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...(method === "GET" ? {} : { "X-CSRF-Token": csrfToken.peek() }),
        ...headers,
      },
      body: json === undefined ? null : JSON.stringify(json),
      signal: given === undefined ? limit : AbortSignal.any([given, limit]),
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
    });
    noteServerTime(response.headers.get("Date"));
    return response;
  } catch (error) {
    if (given?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The service cannot be reached. Check the connection and try again.");
  }
}

function errorOf(response: Response, body: unknown): ApiError {
  const said = (typeof body === "object" && body !== null ? body : {}) as {
    error?: string;
    message?: string;
    details?: unknown;
    request_id?: string;
  };
  return new ApiError(
    response.status,
    said.error ?? "unexpected",
    said.message ?? `The service answered ${response.status}.`,
    Array.isArray(said.details) ? (said.details as FieldProblem[]) : [],
    said.request_id ?? response.headers.get("X-Request-Id"),
    said.details ?? null,
    Number(response.headers.get("Retry-After")) || null,
  );
}
