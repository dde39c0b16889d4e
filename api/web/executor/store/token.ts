/**
 * The link's token: it is in the URL fragment, which browsers do not send. It stays in the address, which the person
 * may want to copy, and is stored in IndexedDB, so that a reload without the fragment works.
 */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function tokenIn(fragment: string): string | null {
  const text = fragment.replace(/^#/, "");
  return TOKEN.test(text) ? text : null;
}

/** The run id in a page's path, `.../r/{run_id}`; null if there is none. */
export function runIdIn(pathname: string): string | null {
  const last = pathname.split("/").at(-1) ?? "";
  return /^r-[0-9a-f-]{36}$/.test(last) ? last : null;
}
