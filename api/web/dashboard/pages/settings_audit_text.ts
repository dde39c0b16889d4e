/** Titles of the audit actions. An unknown action is shown as it is. */
const WORDS: Readonly<Record<string, string>> = {
  "api_key.created": "Created an API key",
  "api_key.revoked": "Revoked an API key",
  "member.invited": "Invited a member",
  "member.role_changed": "Changed a role",
  "member.renamed": "Renamed a member",
  "member.reset": "Reset a sign-in",
  "member.removed": "Removed a member",
  "member.link_made": "Created a link for a member",
  "template.created": "Created a template",
  "template.updated": "Changed a template",
  "template.restored": "Restored a version",
  "template.deleted": "Deleted a template",
  "delivery.replayed": "Replayed a delivery",
  "replay.created": "Started a replay",
  "replay.stopped": "Stopped a replay",
  "run.cancelled": "Cancelled a run",
  "session.started": "Signed in",
  "session.ended": "Ended sessions",
  "account.password_set": "Set a password",
  "person.erased": "Erased a person's data",
};

export function words(action: string): string {
  return WORDS[action] ?? action.replace(/[._]/g, " ").replace(/^./, (first) => first.toUpperCase());
}

const GROUPS = [
  { value: "api_key", title: "API keys: all" },
  { value: "member", title: "Members: all" },
  { value: "template", title: "Templates: all" },
  { value: "delivery", title: "Deliveries: all" },
  { value: "replay", title: "Replays: all" },
  { value: "run", title: "Runs: all" },
  { value: "session", title: "Sign-ins: all" },
  { value: "account", title: "Accounts: all" },
];

/** For the filter: a group, or one action. */
export const ACTIONS: readonly { value: string; title: string }[] = [...GROUPS, ...Object.entries(WORDS).map(([value, title]) => ({ value, title }))];
