/** Dialogs to invite a member and to change one. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { ApiError, call } from "../client";
import { allInline, focusFirstProblem, problemOf, RadioField, TextField } from "../parts/fields";
import { Failure } from "../parts/states";
import type { Role } from "../session";
import { ROLES, type Member } from "./settings_member_types";

export interface Invitation {
  readonly link: string;
  readonly expires_at: string;
}

export interface Invited {
  readonly member: Member;
  /** null: there are no local accounts; the member signs in with the provider. */
  readonly invitation: Invitation | null;
}

interface InviteProps {
  organizationId: string;
  onInvited(invited: Invited): void;
  onClose(): void;
}

export function InviteMember({ organizationId, onInvited, onClose }: InviteProps) {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("editor");
  const send = async () => {
    const made = await call<Member & { readonly invitation: Invitation | null }>(`${organizationId}/members`, { method: "POST", json: { email, name, role } });
    onInvited({ member: made, invitation: made.invitation });
  };
  return (
    <MemberForm
      title="Invite a member"
      act="Invite"
      missing={() => ({ ...(email.trim() === "" && { email: "Enter the e-mail address." }), ...(name.trim() === "" && { name: "Enter the person’s name." }) })}
      paths={["email", "name", "role"]}
      send={send}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <TextField name="email" type="email" label="E-mail address" hint="The address that they sign in with." value={email} autocomplete="off" error={problem("email")} onInput={setEmail} />
          <TextField name="name" label="Name" value={name} autocomplete="off" maxLength={200} error={problem("name")} onInput={setName} />
          <RadioField name="role" label="Role" value={role} options={ROLES} error={problem("role")} onChange={(value) => setRole(value as Role)} />
        </>
      )}
    </MemberForm>
  );
}

interface ChangeProps {
  organizationId: string;
  member: Member;
  onChanged(member: Member): void;
  onClose(): void;
}

export function ChangeMember({ organizationId, member, onChanged, onClose }: ChangeProps) {
  const [name, setName] = useState(member.name);
  const [role, setRole] = useState<Role>(member.role);
  const send = async () => {
    const changes = { ...(name.trim() !== member.name && { name }), ...(role !== member.role && { role }) };
    if (Object.keys(changes).length === 0) return onClose();
    onChanged(await call<Member>(`${organizationId}/members/${member.id}`, { method: "PATCH", json: changes }));
  };
  return (
    <MemberForm
      title={`Change ${member.name}`}
      act="Save"
      missing={() => (name.trim() === "" ? { name: "Enter the person’s name." } : {})}
      paths={["name", "role"]}
      send={send}
      onClose={onClose}
    >
      {(problem) => (
        <>
          <TextField name="name" label="Name" value={name} autocomplete="off" maxLength={200} error={problem("name")} onInput={setName} />
          <RadioField name="role" label="Role" value={role} options={ROLES} error={problem("role")} onChange={(value) => setRole(value as Role)} />
        </>
      )}
    </MemberForm>
  );
}

interface FormProps {
  title: string;
  act: string;
  /** Client-side problems by path. */
  missing(): Readonly<Record<string, string>>;
  paths: readonly string[];
  send(): Promise<void>;
  onClose(): void;
  children: (problem: (path: string) => string | undefined) => ComponentChildren;
}

function MemberForm({ title, act, missing, paths, send, onClose, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const lacking = tried ? missing() : {};
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setTried(true);
    setError(null);
    if (Object.keys(missing()).length > 0) return focusFirstProblem(form.current);
    setBusy(true);
    try {
      await send();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      setBusy(false);
      focusFirstProblem(form.current);
    }
  };
  return (
    <Dialog
      title={title}
      focusField
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" form="member-form" class="button button-primary" aria-disabled={busy}>
            {busy && <span class="spinner" />}
            {act}
          </button>
        </>
      }
    >
      <form id="member-form" ref={form} class="form" noValidate onSubmit={(event) => void submit(event)}>
        {children((path) => lacking[path] ?? problemOf(error, path))}
        {error && !allInline(error, paths) && <Failure error={error} />}
      </form>
    </Dialog>
  );
}
