/** The signed-in person, their organizations and roles. */
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

/** The organization in the address, if the person is a member. */
export const organization = computed(() => {
  const id = path.value.split("/")[0];
  return session.value?.organizations.find((one) => one.id === id) ?? null;
});

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, admin: 2 };

/**
 * Whether the person has at least `role` in this organization. The server enforces it; this only hides what would be
 * rejected.
 */
export function may(role: Role): boolean {
  const own = organization.value?.role;
  return own !== undefined && RANKS[own] >= RANKS[role];
}

/** Loads the session. While calls wait for a new sign-in, only a session of the same person is accepted. */
export async function loadSession(): Promise<void> {
  try {
    take(await call<Session>("session", { alone: true }));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (signedOut.peek()) return;
    state.value = error.code === "sign_in_required" ? { kind: "none" } : { kind: "failed", error };
  }
}

/**
 * For streams, which cannot see why they were rejected: waits for a new sign-in if the session has ended. Throws
 * ApiError.
 */
export async function refreshSession(aborted: AbortSignal): Promise<void> {
  take(await call<Session>("session", { signal: aborted }));
}

/** Other tabs of this browser share the cookie. */
const tabs = new BroadcastChannel("checklists-session");
tabs.addEventListener("message", () => {
  if (signedOut.peek() || state.peek().kind === "none") void loadSession();
});

/** Applies the loaded session. */
export function take(found: Session): void {
  const before = session.peek();
  if (csrfToken.peek() !== found.csrf_token) tabs.postMessage("signed in");
  csrfToken.value = found.csrf_token;
  // Another person has signed in: the page and all waiting calls are discarded.
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

/** Also signs out at the identity provider, if possible. */
export async function signOut(): Promise<void> {
  const answer = await call<{ readonly continue_at?: string } | null>("session", { method: "DELETE", alone: true }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === "sign_in_required") return null;
    throw error;
  });
  forget();
  if (answer?.continue_at) location.assign(answer.continue_at);
}

/** Clears the session. */
export function forget(): void {
  resume(false);
  csrfToken.value = "";
  state.value = { kind: "none" };
}
