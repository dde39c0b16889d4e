/** The stored versions, the differences between two of them, and restoring one. */
import { useMemo, useState } from "preact/hooks";

import { changesBetween, type Draft } from "../../../core/authoring";
import { setQuery, query } from "../../router";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/confirm";
import { counted } from "../../parts/progress";
import { useResource } from "../../parts/resource";
import { Failure, Loading } from "../../parts/states";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { ChangeList } from "./change_list";
import { Pick } from "./editor_fields";
import { JsonDifference } from "./json_difference";
import { allVersions, readVersion, type VersionRow } from "./templates_api";
import type { EditorState } from "./editor_state";

export function Versions({ editor, id, current }: { editor: EditorState; id: string; current: number }) {
  const versions = useResource(`versions ${id} ${current}`, (signal) => allVersions(editor.org, id, signal));
  const [restoring, setRestoring] = useState<VersionRow | null>(null);
  if (versions.error) return <Failure error={versions.error} onRetry={versions.reload} />;
  if (versions.data === null) return <Loading what="versions" />;
  const rows = versions.data;
  const restore = async (row: VersionRow) => {
    const stored = await editor.restore(row.v);
    toast(`Version ${row.v} is restored as version ${stored.v}.`);
  };
  return (
    <div class="versions">
      <p class="quiet">Every change is a version. Runs keep the version that they were dispatched with.</p>
      <DataTable
        caption="Versions"
        rows={rows}
        rowKey={(row) => String(row.v)}
        columns={[
          {
            key: "v",
            title: "Version",
            cell: (row) => (
              <>
                Version {row.v} {row.current && <Badge tone="good">Current</Badge>}
              </>
            ),
          },
          {
            key: "made",
            title: "Made",
            cell: (row) => (
              <span class="made">
                <Time at={row.created_at} />
                {row.changed_by?.name && (
                  <span class="quiet small" dir="auto">
                    by {row.changed_by.name}
                  </span>
                )}
              </span>
            ),
          },
          { key: "steps", title: "Steps", end: true, cell: (row) => row.step_count },
          {
            key: "act",
            title: "Actions",
            silent: true,
            cell: (row) =>
              row.current || editor.readOnly.value ? null : (
                <button type="button" class="button" onClick={() => setRestoring(row)}>
                  Restore<span class="vh">: version {row.v}</span>
                </button>
              ),
          },
        ]}
      />
      {rows.length > 1 ? <Comparing editor={editor} id={id} rows={rows} /> : <p class="quiet">There is only one version.</p>}
      {restoring && (
        <Confirm title={`Restore version ${restoring.v}?`} act="Restore" harmless onConfirm={() => restore(restoring)} onClose={() => setRestoring(null)}>
          <p>
            The template becomes what it was in version {restoring.v} ({counted(restoring.step_count, "step")}), as version {current + 1}. No version is lost, and open runs do not change.
          </p>
          {editor.dirty.value && <p>Your unsaved changes are lost.</p>}
        </Confirm>
      )}
    </div>
  );
}

function Comparing({ editor, id, rows }: { editor: EditorState; id: string; rows: readonly VersionRow[] }) {
  const after = rows.find((row) => String(row.v) === query.value.get("version")) ?? rows[0];
  const before = rows.find((row) => String(row.v) === query.value.get("against")) ?? rows.find((row) => after !== undefined && row.v < after.v) ?? after;
  const [from, to] = [before?.v ?? 0, after?.v ?? 0];
  const pair = useResource(`${id} ${from} ${to}`, async (signal): Promise<readonly [Draft, Draft]> => Promise.all([readVersion(editor.org, id, from, signal), readVersion(editor.org, id, to, signal)]));
  const changes = useMemo(() => (pair.data ? changesBetween(...pair.data) : []), [pair.data]);
  const options = rows.map((row) => ({ value: String(row.v), title: `Version ${row.v}${row.current ? " (current)" : ""}` }));
  return (
    <section class="comparing" aria-label="Difference of two versions">
      <h2>Differences</h2>
      <div class="two">
        <Pick label="From" value={String(from)} options={options} onChange={(v) => setQuery({ against: v })} />
        <Pick label="To" value={String(to)} options={options} onChange={(v) => setQuery({ version: v })} />
      </div>
      {pair.error && <Failure error={pair.error} onRetry={pair.reload} />}
      {pair.data === null ? (
        !pair.error && <Loading what="both versions" />
      ) : (
        <>
          <ChangeList changes={changes} label={`From version ${from} to version ${to}`} />
          <details class="more">
            <summary>As JSON</summary>
            <JsonDifference before={pair.data[0]} after={pair.data[1]} />
          </details>
        </>
      )}
    </section>
  );
}
