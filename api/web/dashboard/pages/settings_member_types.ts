import type { Role } from "../session";

/** As `GET members` returns it; fields that a viewer may not see are null. */
export interface Member {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly you: boolean;
  readonly created_at: string;
  readonly email: string | null;
  readonly signed_in: boolean | null;
  readonly signed_in_at: string | null;
  readonly issuer: string | null;
  readonly managed_by: { readonly manager: string; readonly reason: string } | null;
}

export const ROLES = [
  { value: "viewer", title: "Viewer", means: "Sees templates, runs with their answers, deliveries and usage. Cannot change anything." },
  { value: "editor", title: "Editor", means: "Also creates and changes templates, dispatches and cancels runs, and replays deliveries." },
  { value: "admin", title: "Admin", means: "Also creates and revokes API keys, invites, changes and removes members, and reads the audit." },
] as const satisfies readonly { value: Role; title: string; means: string }[];

/** "an admin": for sentences. */
export function roleTitle(role: Role): string {
  return ROLES.find((one) => one.value === role)?.title ?? role;
}
