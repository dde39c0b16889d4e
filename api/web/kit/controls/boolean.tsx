import { t } from "../language";
import { ChoiceCards } from "./choice_cards";
import type { AnswerProps } from "./control";

/** Labels of so many characters fit side by side on a phone. */
const SHORT = 14;

/** Two wide buttons, one below the other when their words are long. */
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
