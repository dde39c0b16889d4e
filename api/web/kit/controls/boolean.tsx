import { ChoiceCards } from "./choice_cards";
import type { ControlProps } from "./control";

interface BooleanProps extends ControlProps {
  value: boolean | null;
  trueLabel: string;
  falseLabel: string;
  onChange(value: boolean): void;
}

/** Labels of so many characters fit side by side on a phone. */
const SHORT = 14;

/** Two wide buttons, one below the other when their words are long. */
export function BooleanControl({ value, trueLabel, falseLabel, onChange, ...rest }: BooleanProps) {
  return (
    <ChoiceCards
      {...rest}
      wide={Math.max(trueLabel.length, falseLabel.length) <= SHORT}
      options={[
        { id: "true", label: trueLabel },
        { id: "false", label: falseLabel },
      ]}
      chosen={value === null ? [] : [String(value)]}
      onChange={([chosen]) => onChange(chosen === "true")}
    />
  );
}
