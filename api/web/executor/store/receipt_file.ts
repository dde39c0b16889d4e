/** Fetches the receipt as a PDF. The token is in a header, so a plain link cannot. Never throws. */
import type { ApiRequest } from "./requests";
import type { Timers } from "./timers";
import { headersOf } from "./transport";

export type ReceiptReply =
  | { readonly kind: "file"; readonly content: Blob; readonly name: string }
  /** There is no connection to the service. */
  | { readonly kind: "network" }
  | { readonly kind: "refused"; readonly status: number };

/** The service draws one PDF at a time, each within four minutes. */
const ANSWER_WITHIN_MS = 300_000;

export async function fetchReceipt(request: ApiRequest, locale: string, fetcher: typeof fetch, timers: Timers): Promise<ReceiptReply> {
  const aborter = new AbortController();
  const timer = timers.set(() => aborter.abort(), ANSWER_WITHIN_MS);
  try {
    const response = await fetcher(request.url, {
      headers: { ...headersOf(request), Accept: "application/pdf", "Accept-Language": locale },
      signal: aborter.signal,
      cache: "no-store",
      credentials: request.session ? "same-origin" : "omit",
      referrerPolicy: "no-referrer",
      // The service never redirects; a captive portal does.
      redirect: "error",
    });
    if (!response.ok) return { kind: "refused", status: response.status };
    if (!response.headers.get("Content-Type")?.startsWith("application/pdf")) return { kind: "network" };
    return { kind: "file", content: await response.blob(), name: nameIn(response.headers.get("Content-Disposition") ?? "") };
  } catch {
    return { kind: "network" };
  } finally {
    timers.clear(timer);
  }
}

function nameIn(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(disposition)?.[1];
  return encoded === undefined ? "receipt.pdf" : decodeURIComponent(encoded);
}
