/** The types of steps, as the person who chooses one sees them. */
import type { StepType } from "../../../core";
import { TYPE_NAMES } from "../../../core/authoring";
import { Dialog } from "../../../kit/controls/dialog";
import { Icon, type IconName } from "../../../kit/controls/icon";

export const TYPE_ICONS: Readonly<Record<StepType, IconName>> = {
  boolean: "check-circle",
  number: "plus",
  choice: "circle",
  multi_choice: "check",
  text: "pen",
  rating: "filter",
  photo: "camera",
  date: "clock",
  time: "clock",
  datetime: "clock",
  signature: "person",
  scan: "scan",
  instruction: "info",
};

const MEANINGS: Readonly<Record<StepType, string>> = {
  boolean: "Two large buttons, with words of your own",
  number: "With a unit and bounds",
  choice: "One of a list of options",
  multi_choice: "Some of a list of options",
  text: "A line, or a longer note",
  rating: "A grade on a scale",
  photo: "One or more pictures",
  date: "A day",
  time: "A time of day",
  datetime: "A moment",
  signature: "A name, and a drawing if they like",
  scan: "A bar code or QR code",
  instruction: "Something to read; takes no answer",
};

const TYPES = Object.keys(MEANINGS) as StepType[];

export const TYPE_OPTIONS = TYPES.map((value) => ({ value, title: TYPE_NAMES[value] }));

export function TypePicker({ onPick, onClose }: { onPick(type: StepType): void; onClose(): void }) {
  return (
    <Dialog title="Which kind of step?" class="type-picker" onClose={onClose}>
      <ul class="types">
        {TYPES.map((type) => (
          <li key={type}>
            <button type="button" class="type" onClick={() => onPick(type)}>
              <Icon name={TYPE_ICONS[type]} />
              <span class="type-name">{TYPE_NAMES[type]}</span>
              <span class="quiet small">{MEANINGS[type]}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
