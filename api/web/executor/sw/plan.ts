/**
 * Decides how the service worker handles a request. It serves only the app's own files and pages: API requests contain
 * a token and answers, and are never stored in Cache Storage.
 */

export type Plan =
  /** The page is the same for all runs; it reads the run from its address. */
  | { readonly kind: "page" }
  | { readonly kind: "file"; readonly name: string }
  | { readonly kind: "network" };

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly mode: string;
}

const PAGE = /^(?:r-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|index\.html)?$/;
const NETWORK: Plan = { kind: "network" };

/** `scope` is the folder of the app, e.g. `https://host/prefix/r/`; `files` are relative to it. */
export function planFor(asked: Asked, scope: string, files: readonly string[]): Plan {
  const url = new URL(asked.url);
  const folder = new URL(scope);
  if (asked.method !== "GET" || url.origin !== folder.origin || !url.pathname.startsWith(folder.pathname)) return NETWORK;
  const name = url.pathname.slice(folder.pathname.length);
  if (asked.mode === "navigate") return PAGE.test(name) ? { kind: "page" } : NETWORK;
  return files.includes(name) ? { kind: "file", name } : NETWORK;
}

/**
 * Whether page and files are of the same build. During a rollout they may come from different servers; together they
 * could not start offline.
 */
export function fits(page: string, files: readonly string[]): boolean {
  const used = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => match[1] ?? "");
  return used.length > 0 && used.every((name) => files.includes(name));
}

/** Caches are shared by the origin; this prefix selects those of this app in this folder. */
export function cacheName(scope: string, build: string): string {
  return `${cachePrefix(scope)}${build}`;
}

export function cachePrefix(scope: string): string {
  return `checklist-executor ${new URL(scope).pathname} `;
}
