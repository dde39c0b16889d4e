/** A list of differences in words. */
import type { Change } from "../../../core/authoring";
import { Icon, type IconName } from "../../../kit/controls/icon";

const ICONS: Readonly<Record<Change["kind"], IconName>> = { added: "plus", removed: "minus", changed: "pen", moved: "next" };
const WORDS: Readonly<Record<Change["kind"], string>> = { added: "Added", removed: "Removed", changed: "Changed", moved: "Moved" };

export function ChangeList({ changes, label }: { changes: readonly Change[]; label: string }) {
  if (changes.length === 0) return <p class="quiet">No differences.</p>;
  return (
    <ul class="changes" aria-label={label}>
      {changes.map((change, index) => (
        <li key={index} class={`change is-${change.kind}`}>
          <Icon name={ICONS[change.kind]} />
          <span class="vh">{WORDS[change.kind]}: </span>
          <span dir="auto">
            <strong>{change.about}</strong>
            {change.before === undefined ? ` ${change.what}` : `: ${change.what}`}
            {change.before !== undefined && (
              <span class="change-values">
                <del>{change.before}</del>
                <span aria-hidden="true"> → </span>
                <span class="vh"> became </span>
                <ins>{change.after}</ins>
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
