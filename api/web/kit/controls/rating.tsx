import { ratingBounds } from "../../core";
import { t } from "../language";
import type { AnswerProps } from "./control";
import { wiring } from "./control";

/** Maximum number of grades that fit on a phone as buttons. */
const MAX_BUTTONS = 11;

/** Grades as a row of buttons with end labels; a select for many grades. */
export function RatingControl(props: AnswerProps) {
  const { id, step, disabled, onChange } = props;
  const value = typeof props.value === "number" ? props.value : null;
  const { min, max } = ratingBounds(step);
  const { low_label: lowLabel, high_label: highLabel } = step.config;
  const grades = Array.from({ length: max - min + 1 }, (_, index) => min + index);
  const nameOf = (grade: number) => {
    const label = grade === min ? lowLabel : grade === max ? highLabel : "";
    return label ? t("rating.value_labelled", { value: grade, max, label }) : t("rating.value", { value: grade, max });
  };
  if (grades.length > MAX_BUTTONS) {
    return (
      <select
        id={id}
        class="input"
        {...wiring(props)}
        value={value ?? ""}
        disabled={disabled}
        onChange={(event) => event.currentTarget.value !== "" && onChange(Number(event.currentTarget.value))}
      >
        <option value="" disabled>
          {t("choice.one")}
        </option>
        {grades.map((grade) => (
          <option key={grade} value={grade}>
            {nameOf(grade)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="rating">
      <div id={id} class="grades" role="radiogroup" {...wiring(props)}>
        {grades.map((grade) => (
          <label key={grade} class="grade">
            <input
              type="radio"
              name={id}
              value={grade}
              checked={grade === value}
              disabled={disabled}
              aria-label={nameOf(grade)}
              onChange={() => onChange(grade)}
            />
            <span aria-hidden="true">{grade}</span>
          </label>
        ))}
      </div>
      {(lowLabel || highLabel) && (
        <div class="grade-ends" aria-hidden="true">
          <span>{lowLabel}</span>
          <span>{highLabel}</span>
        </div>
      )}
    </div>
  );
}
