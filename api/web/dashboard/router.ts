/**
 * Where the person is: the address below `/dashboard/`, as a signal. Filters, pages and open tabs live in the address, so
 * that a link to what one sees can be sent to somebody else, and the browser's back does what it says: it also comes back
 * to the same height and to the link that was followed (`arrival.ts`).
 */
import { computed, signal } from "@preact/signals";

/** `https://host/prefix/dashboard/`: the server says so by the page's `<base>`. */
export const BASE = new URL(".", document.baseURI);

interface Place {
  /** Without the base, without a slash at either end: `org-.../runs/r-...`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** What the browser's history remembers of a place. */
export interface Visit {
  /** Counts up along the history; tells back from forward. */
  readonly at: number;
  /** How far down the page was when it was left. */
  readonly top?: number;
  /** The link that was followed from there. */
  readonly followed?: string;
}

export interface Arrival {
  readonly how: "first" | "link" | "history";
  readonly visit: Visit;
  /** What had the focus when the person set off. */
  readonly from: Element | null;
}

function here(): Place {
  return { path: readable(location.pathname).slice(BASE.pathname.length).replace(/^\/+|\/+$/g, ""), query: new URLSearchParams(location.search) };
}

/** A link that was cut or mangled may not be decodable; it then leads to a place that does not exist. */
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
/** How the present path was come to; changes with every change of the path. */
export const arrival = signal<Arrival>({ how: "first", visit: visit(), from: null });

/** What has to be asked before the person leaves (typed and not saved); null: nothing. */
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
    // The browser has gone already: back to where the unsaved work is.
    goingBack = next.at !== at;
    if (goingBack) history.go(at - next.at);
    return;
  }
  at = next.at;
  moved("history");
});

/** The address of `to`, which is a path below the base, perhaps with a query. */
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

/** Changes parts of the query and stays where one is; null takes a part away. Filters do not fill the history. */
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
