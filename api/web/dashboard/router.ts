/**
 * The router: the address below `/dashboard/` as a signal. Filters, pages and open tabs are in the address, so that
 * links can be shared and going back works; it also restores scroll position and focus (`arrival.ts`).
 */
import { computed, signal } from "@preact/signals";

/** `https://host/prefix/dashboard/`: from the page's `<base>`. */
export const BASE = new URL(".", document.baseURI);

interface Place {
  /** The path below the base, without slashes at either end: `org-.../runs/r-...`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** State in a history entry. */
export interface Visit {
  /** Increases along the history; distinguishes back from forward. */
  readonly at: number;
  /** The scroll position when the page was left. */
  readonly top?: number;
  /** The link that was followed from the page. */
  readonly followed?: string;
}

export interface Arrival {
  readonly how: "first" | "link" | "history";
  readonly visit: Visit;
  /** The focused element before navigation. */
  readonly from: Element | null;
}

function here(): Place {
  return { path: readable(location.pathname).slice(BASE.pathname.length).replace(/^\/+|\/+$/g, ""), query: new URLSearchParams(location.search) };
}

/** A truncated link may not be decodable; it then leads to the page for unknown addresses. */
function readable(address: string): string {
  try {
    return decodeURI(address);
  } catch {
    return address;
  }
}

function visit(): Visit {
  const kept = history.state as Visit | null;
  return typeof kept?.at === "number" ? kept : { at: 0 };
}

const current = signal<Place>(here());
let at = visit().at;

export const place = computed(() => current.value);
export const path = computed(() => current.value.path);
export const query = computed(() => current.value.query);
/** How the current path was reached; changes with every change of the path. */
export const arrival = signal<Arrival>({ how: "first", visit: visit(), from: null });

/** The confirmation to show before leaving (unsaved input); null if none. */
export const leaving = signal<(() => boolean) | null>(null);

history.scrollRestoration = "manual";
addEventListener("beforeunload", (event) => {
  keepHeight();
  if (leaving.peek() !== null) event.preventDefault();
});

let goingBack = false;
addEventListener("popstate", () => {
  if (goingBack) {
    goingBack = false;
    return;
  }
  const next = visit();
  if (!mayLeave()) {
    // The browser has navigated already: go back to the unsaved input.
    goingBack = next.at !== at;
    if (goingBack) history.go(at - next.at);
    return;
  }
  at = next.at;
  moved("history");
});

/** The URL of `to`, a path below the base, optionally with a query. */
export function hrefOf(to: string): string {
  return new URL(to.replace(/^\/+/, ""), BASE).href;
}

export function navigate(to: string, { replace = false } = {}): void {
  if (!mayLeave()) return;
  if (!replace) {
    keepHeight(hrefOf(to));
    at += 1;
  }
  history[replace ? "replaceState" : "pushState"]({ at }, "", hrefOf(to));
  moved("link");
}

/** Changes query parameters without navigation; null removes one. Filters do not add history entries. */
export function setQuery(parts: Readonly<Record<string, string | null>>): void {
  const next = new URLSearchParams(current.peek().query);
  for (const [name, value] of Object.entries(parts)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState(history.state, "", hrefOf(`${current.peek().path}${text === "" ? "" : `?${text}`}`));
  current.value = here();
}

function mayLeave(): boolean {
  const ask = leaving.peek();
  if (ask !== null && !ask()) return false;
  leaving.value = null;
  return true;
}

function keepHeight(followed?: string): void {
  history.replaceState({ at, top: Math.round(scrollY), ...(followed === undefined ? {} : { followed }) }, "");
}

function moved(how: "link" | "history"): void {
  const next = here();
  const before = current.peek();
  current.value = next;
  if (next.path !== before.path) arrival.value = { how, visit: visit(), from: document.activeElement };
  if (how === "link" && next.path !== before.path) scrollTo({ top: 0, behavior: "instant" });
}
