/** Settings, members. Admins invite, change and remove members. */
import { useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { call } from "../client";
import { useLiveReload } from "../live";
import { Badge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { CommandToCopy } from "../parts/copy";
import { PageHead, Section } from "../parts/page_head";
import { Pagination, type PageInfo } from "../parts/pagination";
import { useResource } from "../parts/resource";
import { Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { toast } from "../parts/toast";
import { BASE, query } from "../router";
import { loadSession, may, organization } from "../session";
import { askWays } from "../sign_in_ways";
import { ChangeMember, InviteMember, type Invitation, type Invited } from "./settings_member_forms";
import { ROLES, roleTitle, type Member } from "./settings_member_types";

import "../styles/settings.css";

interface Members {
  readonly data: readonly Member[];
  readonly pagination: PageInfo;
}

type Doing = { readonly what: "invite" } | { readonly what: "change" | "reset" | "remove"; readonly member: Member };

export function MembersPage() {
  const own = organization.value;
  const id = own?.id ?? "";
  const page = query.value.get("page") ?? "1";
  const members = useResource<Members>(`${id} ${page}`, (signal) => call(`${id}/members?per_page=100&page=${encodeURIComponent(page)}`, { signal }));
  useLiveReload(["member"], members.reload);
  const [doing, setDoing] = useState<Doing | null>(null);
  const [invited, setInvited] = useState<Invited | null>(null);
  const admin = may("admin");
  const ways = useResource("ways", askWays);
  const links = ways.data?.local ?? false;

  const changed = (member: Member) => {
    setDoing(null);
    toast(`${member.name} is ${roleTitle(member.role)} now.`);
    members.reload();
    // The person's own role may have changed.
    if (member.you) void loadSession();
  };
  const reset = async (member: Member) => {
    await call(`${id}/members/${member.id}/reset`, { method: "POST" });
    toast(`The next sign-in with ${member.email ?? "the address"} counts as ${member.name}.`);
    members.reload();
  };
  const remove = async (member: Member) => {
    await call(`${id}/members/${member.id}`, { method: "DELETE" });
    toast(`${member.name} is no member any more.`);
    if (member.you) void loadSession();
    else members.reload();
  };

  const inviteAgain = (member: Member) =>
    void call<Invitation>(`${id}/members/${member.id}/invitation`, { method: "POST" }).then(
      (invitation) => setInvited({ member, invitation }),
      (error: unknown) => toast(error instanceof Error ? error.message : String(error), "bad"),
    );

  const columns: Column<Member>[] = [
    {
      key: "name",
      title: "Name",
      cell: (member) => (
        <>
          {member.name}
          {member.you && <span class="you"> (you)</span>}
        </>
      ),
    },
    ...(may("editor") ? [{ key: "email", title: "E-mail", cell: (member: Member) => <span class="anywhere">{member.email ?? "–"}</span> }] : []),
    { key: "role", title: "Role", cell: (member) => roleTitle(member.role) },
    ...(may("editor") ? [{ key: "signed_in", title: "Sign-in", cell: (member: Member) => <SignInState member={member} /> }] : []),
    ...(admin ? [{ key: "actions", title: "Actions", silent: true, end: true, cell: (member: Member) => <Actions member={member} onDo={setDoing} onInvite={links ? inviteAgain : null} /> }] : []),
  ];

  return (
    <>
      <PageHead
        title="Members"
        actions={
          admin && (
            <button type="button" class="button button-primary" onClick={() => setDoing({ what: "invite" })}>
              Invite a member
            </button>
          )
        }
      >
        <p>Members sign in to this dashboard, and can answer checklists as themselves.</p>
      </PageHead>
      {members.error && <Failure error={members.error} onRetry={members.reload} />}
      {members.data === null && members.loading && <Loading what="the members" />}
      {members.data && (
        <>
          <DataTable caption="Members" columns={columns} rows={members.data.data} rowKey={(member) => member.id} busy={members.loading} />
          <Pagination pagination={members.data.pagination} label="Pages of members" />
        </>
      )}
      <Section title="Roles">
        <dl class="roles">
          {ROLES.map((role) => (
            <div key={role.value} class="role">
              <dt>{role.title}</dt>
              <dd>{role.means}</dd>
            </div>
          ))}
        </dl>
      </Section>
      {doing?.what === "invite" && (
        <InviteMember
          organizationId={id}
          onClose={() => setDoing(null)}
          onInvited={(made) => {
            setDoing(null);
            setInvited(made);
            members.reload();
          }}
        />
      )}
      {doing?.what === "change" && <ChangeMember organizationId={id} member={doing.member} onChanged={changed} onClose={() => setDoing(null)} />}
      {doing?.what === "reset" && (
        <Confirm
          title={`Reset the sign-in of ${doing.member.name}?`}
          act="Reset the sign-in"
          onConfirm={() => reset(doing.member)}
          onClose={() => setDoing(null)}
        >
          <p>
            The account that signs in as {doing.member.name} now loses this membership. The next person who signs in with the address <strong>{doing.member.email}</strong> gets it.
          </p>
          <p>If the address has an account of this organization only, its password and link are removed, and all its sessions end.</p>
          <p class="quiet">Use this if the wrong person signed in, or if the account was created again or uses another sign-in. Create a new link afterwards.</p>
        </Confirm>
      )}
      {doing?.what === "remove" && (
        <Confirm
          title={doing.member.you ? `Leave ${own?.name ?? "the organization"}?` : `Remove ${doing.member.name}?`}
          act={doing.member.you ? "Leave" : "Remove the member"}
          typed={doing.member.name}
          onConfirm={() => remove(doing.member)}
          onClose={() => setDoing(null)}
        >
          <p>
            {doing.member.you ? "You lose" : `${doing.member.name} loses`} access to {own?.name} at once. API keys and runs that {doing.member.you ? "you" : "they"} made stay and keep working.
          </p>
        </Confirm>
      )}
      {invited && <ShowInvitation invited={invited} onClose={() => setInvited(null)} />}
    </>
  );
}

function SignInState({ member }: { member: Member }) {
  if (!member.signed_in) return <Badge icon="clock">Invited</Badge>;
  return (
    <span>
      <Badge tone="good">{member.issuer === "local" ? "Local account" : "Signed in"}</Badge>
      {member.signed_in_at && (
        <span class="quiet small since">
          {" "}
          since <Time at={member.signed_in_at} />
        </span>
      )}
    </span>
  );
}

interface ActionsProps {
  member: Member;
  onDo(doing: Doing): void;
  /** null: sign-in by link is not available. */
  onInvite: ((member: Member) => void) | null;
}

function Actions({ member, onDo, onInvite }: ActionsProps) {
  if (member.managed_by !== null) {
    return (
      <span class="managed small">
        <Badge tone="info" icon="sign">
          Managed by {member.managed_by.manager}
        </Badge>
        <span class="quiet">{member.managed_by.reason}</span>
      </span>
    );
  }
  const button = (what: "change" | "reset" | "remove", title: string, bad = false) => (
    <button type="button" class={bad ? "button button-quiet is-bad" : "button button-quiet"} aria-label={`${title} ${member.name}`} onClick={() => onDo({ what, member })}>
      {title}
    </button>
  );
  return (
    <span class="row-actions">
      {button("change", "Change")}
      {!member.signed_in && onInvite && (
        <button type="button" class="button button-quiet" aria-label={`New link for ${member.name}`} onClick={() => onInvite(member)}>
          New link
        </button>
      )}
      {member.signed_in && !member.you && button("reset", "Reset sign-in")}
      {button("remove", member.you ? "Leave" : "Remove", true)}
    </span>
  );
}

function ShowInvitation({ invited: { member, invitation }, onClose }: { invited: Invited; onClose: () => void }) {
  const title = `${member.name} is invited`;
  const done = (
    <button type="button" class="button button-primary" onClick={onClose}>
      Done
    </button>
  );
  if (invitation === null) {
    return (
      <Dialog title={title} onClose={onClose} foot={done}>
        <p>
          Tell {member.name} to sign in at this address with the account whose e-mail address is <strong>{member.email}</strong>. The first sign-in binds it.
        </p>
        <CommandToCopy command={BASE.href} label="Copy the address" />
      </Dialog>
    );
  }
  return (
    <Dialog title={title} onClose={onClose} foot={done}>
      <p class="shown-once">This link is shown only now. Send it to {member.name} only: anyone who opens it signs in as them.</p>
      <CommandToCopy command={invitation.link} label="Copy the link" />
      <p class="quiet">
        It works once, until <Time at={invitation.expires_at} as="local" />.
      </p>
    </Dialog>
  );
}

