/** The person's account: memberships, signed-in browsers, password. */
import { useState } from "preact/hooks";

import { call } from "../client";
import { Badge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { PageHead, Section } from "../parts/page_head";
import { useResource } from "../parts/resource";
import { Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { toast } from "../parts/toast";
import { forget, session, type Session } from "../session";
import { browserName } from "./account_browser";
import { PasswordForm } from "./account_password";
import { roleTitle } from "./settings_member_types";

import "../styles/settings.css";

interface OwnSession {
  readonly id: string;
  readonly current: boolean;
  readonly method: Session["method"];
  readonly client: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
}

const METHODS: Readonly<Record<Session["method"], string>> = { oidc: "identity provider", password: "password", link: "one-time link" };

export function AccountPage() {
  const who = session.value;
  if (who === null) return null;
  return (
    <>
      <PageHead title="Your account">
        <p>
          <span dir="auto">{who.name}</span>, {who.email}
        </p>
      </PageHead>
      {who.method === "oidc" ? (
        <Section title="Password" lead="You sign in with an identity provider, which manages your password.">
          {null}
        </Section>
      ) : (
        <PasswordForm method={who.method} />
      )}
      <Sessions />
      <Section title="Your organizations">
        {who.organizations.length === 0 ? (
          <p>You are not a member of an organization.</p>
        ) : (
          <DataTable
            caption="Your organizations"
            columns={[
              { key: "name", title: "Organization", cell: (one) => one.name },
              { key: "role", title: "Your role", cell: (one) => roleTitle(one.role) },
            ]}
            rows={who.organizations}
            rowKey={(one) => one.id}
            to={(one) => one.id}
          />
        )}
      </Section>
    </>
  );
}

function Sessions() {
  // A new session of this browser (after a password change) is a new list.
  const sessions = useResource<{ readonly sessions: readonly OwnSession[] }>(session.value?.csrf_token ?? "", (signal) => call("sessions", { signal }));
  const [ending, setEnding] = useState(false);
  const end = async (one: OwnSession) => {
    await call(`sessions/${one.id}`, { method: "DELETE" });
    toast(`${browserName(one.client)} is signed out.`);
    sessions.reload();
  };
  const endAll = async () => {
    await call("sessions", { method: "DELETE" });
    forget();
  };
  const endOthers = async () => {
    await call("sessions?keep_current=true", { method: "DELETE" });
    toast("All other browsers are signed out.");
    sessions.reload();
  };
  const failed = (error: unknown) => toast(error instanceof Error ? error.message : String(error), "bad");
  const columns: Column<OwnSession>[] = [
    {
      key: "browser",
      title: "Browser",
      cell: (one) => (
        <span title={one.client ?? undefined}>
          {browserName(one.client)} {one.current && <Badge tone="good">This browser</Badge>}
        </span>
      ),
    },
    { key: "method", title: "Signed in with", cell: (one) => METHODS[one.method] },
    { key: "created_at", title: "Since", cell: (one) => <Time at={one.created_at} /> },
    { key: "last_seen_at", title: "Last used", cell: (one) => (one.current ? "now" : <Time at={one.last_seen_at} />) },
    { key: "expires_at", title: "Ends", cell: (one) => <Time at={one.expires_at} /> },
    {
      key: "actions",
      title: "Actions",
      silent: true,
      end: true,
      cell: (one) =>
        !one.current && (
          <button type="button" class="button button-quiet is-bad" aria-label={`Sign out ${browserName(one.client)}`} onClick={() => void end(one).catch(failed)}>
            Sign out
          </button>
        ),
    },
  ];
  const others = (sessions.data?.sessions.length ?? 0) > 1;
  return (
    <Section
      title="Where you are signed in"
      actions={
        <>
          {others && (
            <button type="button" class="button" onClick={() => void endOthers().catch(failed)}>
              Sign out all others
            </button>
          )}
          <button type="button" class="button" onClick={() => setEnding(true)}>
            Sign out everywhere
          </button>
        </>
      }
    >
      {sessions.error && <Failure error={sessions.error} onRetry={sessions.reload} />}
      {sessions.data === null && sessions.loading && <Loading what="your sessions" />}
      {sessions.data && <DataTable caption="Where you are signed in" columns={columns} rows={sessions.data.sessions} rowKey={(one) => one.id} busy={sessions.loading} />}
      {ending && (
        <Confirm title="Sign out everywhere?" act="Sign out everywhere" onConfirm={endAll} onClose={() => setEnding(false)}>
          <p>This signs you out of all browsers, including this one.</p>
        </Confirm>
      )}
    </Section>
  );
}
