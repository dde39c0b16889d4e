/** Who is signed in, where they may go, and what they may do there. */
import { computed, signal } from "@preact/signals";

import { ApiError, call, csrfToken, renewal, resume, signedOut } from "./client";
import { path } from "./router";

export type Role = "viewer" | "editor" | "admin";

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly member_id: string;
}

export interface Session {
  readonly name: string;
  readonly email: string;
  readonly method: "oidc" | "password" | "link";
  readonly expires_at: string;
  readonly csrf_token: string;
  readonly organizations: readonly Organization[];
}

type State = { readonly kind: "loading" } | { readonly kind: "none" } | { readonly kind: "failed"; readonly error: ApiError } | { readonly kind: "in"; readonly session: Session };

export const state = signal<State>({ kind: "loading" });
export const session = computed(() => (state.value.kind === "in" ? state.value.session : null));

/** The organization that the address names, if the person belongs to it. */
export const organization = computed(() => {
  const id = path.value.split("/")[0];
  return session.value?.organizations.find((one) => one.id === id) ?? null;
});

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, admin: 2 };

/** Whether the person may do in this organization what needs `role`. The server decides; this only saves a refusal. */
export function may(role: Role): boolean {
  const own = organization.value?.role;
  return own !== undefined && RANKS[own] >= RANKS[role];
}

/** Asks the service who is signed in. While work waits for a new session, only that one is taken note of. */
export async function loadSession(): Promise<void> {
  try {
    take(await call<Session>("session", { alone: true }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (signedOut.peek()) return;
    state.value = error.code === "sign_in_required" ? { kind: "none" } : { kind: "failed", error };
  }
}

/** For streams, which are not told why they were refused: waits for a new session if that is it. Throws ApiError. */
export async function refreshSession(aborted: AbortSignal): Promise<void> {
  take(await call<Session>("session", { signal: aborted }));
}

/** Other tabs of this browser: they share the cookie. */
const tabs = new BroadcastChannel("checklists-session");
tabs.addEventListener("message", () => {
  if (signedOut.peek() || state.peek().kind === "none") void loadSession();
});

/** Takes note of who is signed in, as the service tells it. */
export function take(found: Session): void {
  const before = session.peek();
  if (csrfToken.peek() !== found.csrf_token) tabs.postMessage("signed in");
  csrfToken.value = found.csrf_token;
  // What is on the screen is somebody else's: it goes, with all that it waits for.
  if (before !== null && !isSamePerson(before, found)) return location.reload();
  state.value = { kind: "in", session: found };
  resume(true);
}

function isSamePerson(one: Session, other: Session): boolean {
  return one.email.toLowerCase() === other.email.toLowerCase();
}

renewal.renew = async () => {
  const before = csrfToken.peek();
  await loadSession();
  return csrfToken.peek() !== before;
};

/** Also at the identity provider, where that is possible. */
export async function signOut(): Promise<void> {
  const answer = await call<{ readonly continue_at?: string } | null>("session", { method: "DELETE", alone: true }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === "sign_in_required") return null;
    throw error;
  });
  forget();
  if (answer?.continue_at) location.assign(answer.continue_at);
}

/** Nobody is signed in here any more. */
export function forget(): void {
  resume(false);
  csrfToken.value = "";
  state.value = { kind: "none" };
}
