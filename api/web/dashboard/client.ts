/**
 * Client of the dashboard's API. Failures are `ApiError`s that can be shown as they are. If the session has ended, the
 * frame asks to sign in again while the page stays, and the rejected call waits and is repeated.
 */
import { computed, signal } from "@preact/signals";

import { noteServerTime } from "./clock";
import { BASE } from "./router";

const ANSWER_WITHIN_MS = 20_000;
/** From then on, the page says that it waits for the service. */
const SLOW_AFTER_MS = 3_000;

const slowCalls = signal(0);
const unreachable = signal(false);
/** Whether the service answers: false while a call takes long, and after one without a response. */
export const isAnswering = computed(() => !unreachable.value && slowCalls.value === 0);

/** The service has answered, e.g. on a stream. */
export function noteAnswer(): void {
  unreachable.value = false;
}

export interface FieldProblem {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

export class ApiError extends Error {
  constructor(
    /** HTTP status; 0 if there was no response. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problems: readonly FieldProblem[] = [],
    readonly requestId: string | null = null,
    readonly details: unknown = null,
    /** Retry-After, in seconds. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** Set by the session; sent with every write. */
export const csrfToken = signal("");
/** Whether a response failure that the session has ended; the frame then asks to sign in again. */
export const signedOut = signal(false);

/**
 * How many times to ask for a new sign-in: once for the first rejected call, and once for each rejected write after it.
 */
export const refusals = signal(0);

const waiting = new Set<(back: boolean) => void>();

/** Resumes the calls that wait for a session (`back`), or rejects them with their error. */
export function resume(back: boolean): void {
  signedOut.value = false;
  for (const go of waiting) go(back);
  waiting.clear();
}

/**
 * Resolves to true after a new sign-in, and to false if there will be none. Background calls do not reopen a dialog
 * that the person has closed.
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

/**
 * Renews a stale CSRF token after a new sign-in in another tab. Set by `session.ts`; false if another person is signed
 * in.
 */
export const renewal: { renew(): Promise<boolean> } = { renew: () => Promise.resolve(false) };

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** For calls that sign in: a 401 is their own result. */
  readonly alone?: boolean;
  /** Timeout in milliseconds for slow calls. */
  readonly within?: number;
}

export interface Answer<T> {
  readonly body: T;
  readonly headers: Headers;
}

/** `call("org-.../runs")` requests `/dashboard/api/org-.../runs`. Throws ApiError. */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  return (await exchange<T>(path, options)).body;
}

/** As `call`, with the response headers. */
export async function exchange<T>(path: string, options: Call = {}): Promise<Answer<T>> {
  const response = await open(path, options);
  const body: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  return { body: body as T, headers: response.headers };
}

/** As `call`, with an unread response body, for files. Set the timeout with `within`. */
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
      // The role or the membership may have been removed: reload the session.
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
  // Calls with a time limit of their own are known to be slow.
  const endOfWait = within === ANSWER_WITHIN_MS ? noteSlowCall() : () => undefined;
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
    noteAnswer();
    return response;
  } catch (error) {
    if (given?.aborted) throw error;
    unreachable.value = true;
    throw new ApiError(0, "unreachable", "The service cannot be reached. Check the connection and try again.");
  } finally {
    endOfWait();
  }
}

/** Counts a call that takes long, until the returned function is called. */
function noteSlowCall(): () => void {
  let isSlow = false;
  const timer = setTimeout(() => {
    isSlow = true;
    slowCalls.value += 1;
  }, SLOW_AFTER_MS);
  return () => {
    clearTimeout(timer);
    if (isSlow) slowCalls.value -= 1;
  };
}

function errorOf(response: Response, body: unknown): ApiError {
  const failure = (typeof body === "object" && body !== null ? body : {}) as {
    error?: string;
    message?: string;
    details?: unknown;
    request_id?: string;
  };
  return new ApiError(
    response.status,
    failure.error ?? "unexpected",
    failure.message ?? `The service answered ${response.status}.`,
    Array.isArray(failure.details) ? (failure.details as FieldProblem[]) : [],
    failure.request_id ?? response.headers.get("X-Request-Id"),
    failure.details ?? null,
    Number(response.headers.get("Retry-After")) || null,
  );
}
