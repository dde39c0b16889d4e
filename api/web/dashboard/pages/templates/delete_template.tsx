import { Confirm } from "../../parts/confirm";
import { counted } from "../../parts/progress";
import { useResource } from "../../parts/resource";
import { toast } from "../../parts/toast";
import { deleteTemplate, deletionOf } from "./templates_api";

interface Props {
  org: string;
  id: string;
  name: string;
  onDeleted(): void;
  onClose(): void;
}

/** Confirms the deletion and lists what is deleted and what is kept. */
export function DeleteTemplate({ org, id, name, onDeleted, onClose }: Props) {
  const means = useResource(`deletion ${id}`, (signal) => deletionOf(org, id, signal)).data;
  const remove = async () => {
    await deleteTemplate(org, id);
    toast(`The template “${name}” is deleted.`);
    onDeleted();
  };
  return (
    <Confirm title={`Delete the template “${name}”?`} act="Delete the template" onConfirm={remove} onClose={onClose}>
      <p>You can no longer dispatch it. You cannot undo this.</p>
      <ul class="bullets">
        <li>
          {means === null
            ? "Open runs continue, and their links work: each run has its own copy."
            : means.open_runs === 0
              ? "It has no open runs."
              : `${counted(means.open_runs, "open run")} of it ${means.open_runs === 1 ? "goes" : "go"} on, and ${means.open_runs === 1 ? "its link works" : "their links work"}: each run keeps its own copy.`}
        </li>
        <li>Closed runs with their answers and deliveries are kept{means !== null && means.runs > 0 ? ` (${counted(means.runs, "run")} in all)` : ""}.</li>
        <li>Its versions are deleted{means !== null && means.kept_versions > 0 ? `, except ${counted(means.kept_versions, "version")} used by runs` : ""}.</li>
      </ul>
    </Confirm>
  );
}
