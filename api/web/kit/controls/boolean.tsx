import { t } from "../language";
import { ChoiceCards } from "./choice_cards";
import type { AnswerProps } from "./control";

/** Maximum label length for two buttons side by side on a phone. */
const SHORT = 14;

/** Two wide buttons, stacked if their labels are long. */
export function BooleanControl({ step: { config }, value, onChange, ...rest }: AnswerProps) {
  const [trueLabel, falseLabel] = [config.true_label || t("app.yes"), config.false_label || t("app.no")];
  return (
    <ChoiceCards
      {...rest}
      wide={Math.max(trueLabel.length, falseLabel.length) <= SHORT}
      options={[
        { id: "true", label: trueLabel },
        { id: "false", label: falseLabel },
      ]}
      chosen={typeof value === "boolean" ? [String(value)] : []}
      onChange={([chosen]) => void onChange(chosen === "true")}
    />
  );
}
