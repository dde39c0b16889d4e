import type { ControlProps } from "./control";
import { wiring } from "./control";

export interface CardOption {
  id: string;
  label: string;
}

interface ChoiceCardsProps extends ControlProps {
  options: readonly CardOption[];
  chosen: readonly string[];
  multiple?: boolean;
  /** Side by side if the labels are short enough. */
  wide?: boolean;
  onChange(chosen: string[]): void;
}

/** Radio buttons or check boxes as large cards, usable with gloves. */
export function ChoiceCards(props: ChoiceCardsProps) {
  const { id, options, chosen, multiple = false, wide = false, disabled = false, onChange } = props;
  const choose = (option: string, on: boolean) => {
    if (!multiple) onChange([option]);
    // In the order of the options.
    else onChange(options.map((one) => one.id).filter((one) => (one === option ? on : chosen.includes(one))));
  };
  return (
    <div id={id} class={wide ? "cards cards-wide" : "cards"} role={multiple ? "group" : "radiogroup"} {...groupWiring(props)}>
      {options.map((option) => (
        <label key={option.id} class="choice">
          <input
            type={multiple ? "checkbox" : "radio"}
            name={id}
            value={option.id}
            checked={chosen.includes(option.id)}
            disabled={disabled}
            onChange={(event) => choose(option.id, event.currentTarget.checked)}
          />
          <span class="choice-label" dir="auto">{option.label}</span>
        </label>
      ))}
    </div>
  );
}

/** A group of check boxes allows neither aria-required nor aria-invalid (ARIA 1.2); its description contains both. */
function groupWiring(props: ChoiceCardsProps) {
  const attributes = wiring(props);
  if (!props.multiple) return attributes;
  return { "aria-labelledby": attributes["aria-labelledby"], "aria-describedby": attributes["aria-describedby"] };
}
