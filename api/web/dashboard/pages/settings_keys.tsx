/** Settings, API keys. A new key is shown once. */
import { useRef, useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { ApiError, call } from "../client";
import { useLiveReload } from "../live";
import { Badge } from "../parts/badge";
import { Confirm } from "../parts/confirm";
import { CommandToCopy } from "../parts/copy";
import { allInline, focusFirstProblem, problemOf, TextField } from "../parts/fields";
import { PageHead } from "../parts/page_head";
import { Pagination, type PageInfo } from "../parts/pagination";
import { useResource } from "../parts/resource";
import { Empty, Failure, Loading } from "../parts/states";
import { DataTable, type Column } from "../parts/table";
import { LastUse, Time } from "../parts/time";
import { toast } from "../parts/toast";
import { BASE, query } from "../router";
import { organization } from "../session";

import "../styles/settings.css";

interface Key {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly last_four: string | null;
  readonly created_by: { readonly id: string; readonly name: string | null } | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked: boolean;
}

interface NewKey extends Key {
  readonly key: string;
}

interface Keys {
  readonly data: readonly Key[];
  readonly pagination: PageInfo;
}

export function KeysPage() {
  const own = organization.value?.id ?? "";
  const page = query.value.get("page") ?? "1";
  const keys = useResource<Keys>(`${own} ${page}`, (signal) => call(`${own}/keys?page=${encodeURIComponent(page)}`, { signal }));
  useLiveReload(["key"], keys.reload);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<NewKey | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);

  const onMade = (key: NewKey) => {
    setMaking(false);
    setMade(key);
    keys.reload();
  };
  const revoke = async (key: Key) => {
    await call(`${own}/keys/${key.id}/revoke`, { method: "POST" });
    toast(`The key “${key.name}” is revoked.`);
    keys.reload();
  };
  const columns: Column<Key>[] = [
    { key: "name", title: "Name", cell: (key) => key.name },
    { key: "key", title: "Key", cell: (key) => <span class="mono">{`${key.prefix}…${key.last_four ?? ""}`}</span> },
    { key: "created_by", title: "Created by", cell: (key) => <span dir="auto">{key.created_by === null ? "–" : (key.created_by.name ?? "a former member")}</span> },
    { key: "created_at", title: "Created", cell: (key) => <Time at={key.created_at} /> },
    { key: "last_used_at", title: "Last used", cell: (key) => (key.last_used_at === null ? <span class="quiet">never</span> : <LastUse at={key.last_used_at} />) },
    {
      key: "state",
      title: "State",
      cell: (key) => (key.revoked ? <Badge icon="close">Revoked</Badge> : <Badge tone="good">Active</Badge>),
    },
    {
      key: "actions",
      title: "Actions",
      silent: true,
      end: true,
      cell: (key) =>
        !key.revoked && (
          <button type="button" class="button button-quiet is-bad" aria-label={`Revoke ${key.name}`} onClick={() => setRevoking(key)}>
            Revoke
          </button>
        ),
    },
  ];

  return (
    <>
      <PageHead
        title="API keys"
        actions={
          <button type="button" class="button button-primary" onClick={() => setMaking(true)}>
            New key
          </button>
        }
      >
        <p>A key gives a program full access to this organization without signing in. Store it like a password; create one for each program.</p>
      </PageHead>
      {keys.error && <Failure error={keys.error} onRetry={keys.reload} />}
      {keys.data === null && keys.loading && <Loading what="the keys" />}
      {keys.data?.pagination.total === 0 && (
        <Empty title="No API keys yet">
          <p>Create one, then list this organization’s templates with it:</p>
          <CommandToCopy command={curl("YOUR_KEY")} />
        </Empty>
      )}
      {keys.data && keys.data.pagination.total > 0 && (
        <>
          <DataTable caption="API keys" columns={columns} rows={keys.data.data} rowKey={(key) => key.id} busy={keys.loading} />
          <Pagination pagination={keys.data.pagination} label="Pages of keys" />
        </>
      )}
      {making && <MakeKey organizationId={own} onMade={onMade} onClose={() => setMaking(false)} />}
      {made && <ShowKey made={made} onClose={() => setMade(null)} />}
      {revoking && (
        <Confirm title={`Revoke the key “${revoking.name}”?`} act="Revoke the key" onConfirm={() => revoke(revoking)} onClose={() => setRevoking(null)}>
          <p>
            Programs that use <span class="mono">{`${revoking.prefix}…${revoking.last_four ?? ""}`}</span> are rejected from now on. You cannot undo this; objects that they created stay.
          </p>
          <p class="quiet">
            {revoking.last_used_at === null ? (
              "It was never used."
            ) : (
              <>
                It was last used <LastUse at={revoking.last_used_at} />.
              </>
            )}
          </p>
        </Confirm>
      )}
    </>
  );
}

interface MakeKeyProps {
  organizationId: string;
  onMade(key: NewKey): void;
  onClose(): void;
}

function MakeKey({ organizationId, onMade, onClose }: MakeKeyProps) {
  const form = useRef<HTMLFormElement>(null);
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const [missing, setMissing] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setError(null);
    setMissing(name.trim() === "");
    if (name.trim() === "") return focusFirstProblem(form.current);
    setBusy(true);
    try {
      onMade(await call<NewKey>(`${organizationId}/keys`, { method: "POST", json: { name } }));
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      setBusy(false);
      focusFirstProblem(form.current);
    }
  };
  return (
    <Dialog
      title="New key"
      focusField
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            Back
          </button>
          <button type="submit" form="new-key" class="button button-primary" aria-disabled={busy}>
            {busy && <span class="spinner" />}
            Make the key
          </button>
        </>
      }
    >
      <form id="new-key" ref={form} class="form" noValidate onSubmit={(event) => void submit(event)}>
        <TextField
          name="name"
          label="Name"
          hint="What the key is for, e.g. “Billing” or “Warehouse tablet”."
          value={name}
          autocomplete="off"
          maxLength={200}
          error={missing && name.trim() === "" ? "Enter a name." : problemOf(error, "name")}
          onInput={setName}
        />
        {error && !allInline(error, ["name"]) && <Failure error={error} />}
      </form>
    </Dialog>
  );
}

/** Closed by its button only: the key cannot be shown again. */
function ShowKey({ made, onClose }: { made: NewKey; onClose: () => void }) {
  const [asked, setAsked] = useState(false);
  return (
    <Dialog
      title={`Key “${made.name}”`}
      onClose={() => setAsked(true)}
      foot={
        <button type="button" class="button button-primary" onClick={onClose}>
          I have stored the key
        </button>
      }
    >
      <p class={asked ? "shown-once is-asked" : "shown-once"} role="status">
        This is the only time that the key is shown. Copy it now{asked ? ", then close with the button below." : "."}
      </p>
      <CommandToCopy command={made.key} label="Copy the key" />
      <p>To try it:</p>
      <CommandToCopy command={curl(made.key)} label="Copy the command" />
    </Dialog>
  );
}

function curl(key: string): string {
  return `curl ${new URL("../v1/templates", BASE).href} -H 'Authorization: Bearer ${key}'`;
}
