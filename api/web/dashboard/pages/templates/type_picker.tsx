/** Chooses the type of a new step. */
import type { StepType } from "../../../core";
import { AUTHORING } from "../../../core/authoring";
import { Dialog } from "../../../kit/controls/dialog";
import { Icon } from "../../../kit/controls/icon";

export function TypePicker({ title, onPick, onClose }: { title: string; onPick(type: StepType): void; onClose(): void }) {
  return (
    <Dialog title={title} class="type-picker" onClose={onClose}>
      <ul class="types">
        {Object.entries(AUTHORING).map(([type, { name, meaning, icon }]) => (
          <li key={type}>
            <button type="button" class="type" onClick={() => onPick(type as StepType)}>
              <Icon name={icon} />
              <span class="type-name">{name}</span>
              <span class="quiet small">{meaning}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
