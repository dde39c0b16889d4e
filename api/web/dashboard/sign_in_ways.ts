/** Sign-in methods and their calls. None of these calls waits for a session. */
import { call } from "./client";
import { BASE } from "./router";

export interface Ways {
  /** The identity provider's display name. */
  readonly oidc: { readonly name: string } | null;
  /** Passwords and one-time links. */
  readonly local: boolean;
}

/** In the session storage of a tab opened to sign in: it may close itself. */
export const CLOSES = "checklists.closes";

export function askWays(signal: AbortSignal): Promise<Ways> {
  return call<Ways>("sign-in", { signal, alone: true });
}

/** An account with this email address: of one organization, or (id "") of the installation. */
export interface AccountChoice {
  readonly id: string;
  readonly name: string;
}

/**
 * Returns the accounts to choose from if several have this password; no session is created, and the call is repeated
 * with one of the ids. Null: signed in, but the session is not loaded yet. Throws ApiError: 401 `sign_in_failed`, 429
 * with the seconds to wait.
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

/** Whether a password must be set now. Throws ApiError: 401 `link_not_valid`. The session is not loaded yet. */
export async function redeemLink(secret: string): Promise<boolean> {
  const answer = await call<{ readonly choose_password: boolean }>("sign-in/link", { method: "POST", json: { secret }, alone: true });
  return answer.choose_password;
}

/** Starts the provider's sign-in, which returns to `returnTo`, a path of this host. */
export function providerAddress(returnTo: string): string {
  const address = new URL("api/sign-in/oidc", BASE);
  address.searchParams.set("return_to", returnTo);
  return address.href;
}

const RUN_PAGE = /^\/r\/r-[0-9a-f-]{36}$/;

/** `?return_to=/r/r-...`: the page of a run, as a path of this host; null for anything else. */
export function returnPath(query: URLSearchParams): string | null {
  const given = query.get("return_to") ?? "";
  return RUN_PAGE.test(given) ? new URL(`..${given}`, BASE).pathname : null;
}
