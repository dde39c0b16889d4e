/** The ways to sign in, and the calls that do it. None of them waits for a session, since each makes one. */
import { call } from "./client";
import { BASE } from "./router";

export interface Ways {
  /** The identity provider, by the name that the button says. */
  readonly oidc: { readonly name: string } | null;
  /** Passwords and one-time links. */
  readonly local: boolean;
}

/** In the storage of a tab that was opened to sign in, which it inherits: it may close itself. */
export const CLOSES = "checklists.closes";

export function askWays(signal: AbortSignal): Promise<Ways> {
  return call<Ways>("sign-in", { signal, alone: true });
}

/** An account of the address: of one organization, or (id "") of the installation. */
export interface AccountChoice {
  readonly id: string;
  readonly name: string;
}

/**
 * The accounts to choose from, where several have this password: then nobody is signed in yet, and the call is repeated
 * with the id of one. Null: signed in, and the session is not loaded yet.
 * Throws ApiError: 401 `sign_in_failed`, 429 with the seconds to wait.
 */
export async function signInWithPassword(email: string, password: string, organizationId?: string): Promise<readonly AccountChoice[] | null> {
  const chosen = organizationId === undefined ? {} : { organization_id: organizationId };
  const answer = await call<{ readonly choose_organization?: readonly AccountChoice[] }>("sign-in/password", {
    method: "POST",
    json: { email, password, ...chosen },
    alone: true,
  });
  return answer.choose_organization ?? null;
}

/** Whether a password is to be chosen now. Throws ApiError: 401 `link_not_valid`. The session is not loaded yet. */
export async function redeemLink(secret: string): Promise<boolean> {
  const answer = await call<{ readonly choose_password: boolean }>("sign-in/link", { method: "POST", json: { secret }, alone: true });
  return answer.choose_password;
}

/** Where the browser goes to sign in with the provider, and then comes back to `returnTo`, a path of this host. */
export function providerAddress(returnTo: string): string {
  const address = new URL("api/sign-in/oidc", BASE);
  address.searchParams.set("return_to", returnTo);
  return address.href;
}

const RUN_PAGE = /^\/r\/r-[0-9a-f-]{36}$/;

/** `?return_to=/r/r-...`: the page of a run that asked who one is, as a path of this host; null for anything else. */
export function returnPath(query: URLSearchParams): string | null {
  const given = query.get("return_to") ?? "";
  return RUN_PAGE.test(given) ? new URL(`..${given}`, BASE).pathname : null;
}
