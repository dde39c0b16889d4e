/**
 * The link's token: it is in the fragment, which browsers send to nobody. It stays there (the address is the link, and
 * the person may want to copy it) and goes into IndexedDB, so that the page works when it is reloaded without it.
 */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function tokenIn(fragment: string): string | null {
  const text = fragment.replace(/^#/, "");
  return TOKEN.test(text) ? text : null;
}

/** The run id of a page's address, `.../r/{run_id}`; null where there is none. */
export function runIdIn(pathname: string): string | null {
  const last = pathname.split("/").at(-1) ?? "";
  return /^r-[0-9a-f-]{36}$/.test(last) ? last : null;
}
