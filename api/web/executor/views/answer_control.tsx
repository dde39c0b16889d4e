import type { FunctionComponent } from "preact";

import type { StepType } from "../../core";
import { BooleanControl } from "../../kit/controls/boolean";
import { ChoiceControl } from "../../kit/controls/choice";
import type { AnswerProps } from "../../kit/controls/control";
import { MomentControl } from "../../kit/controls/moment";
import { NumberControl } from "../../kit/controls/number";
import { RatingControl } from "../../kit/controls/rating";
import { ScanControl } from "../../kit/controls/scan";
import { StepSignatureControl } from "../../kit/controls/signature";
import { TextControl } from "../../kit/controls/text";
import type { Answering } from "../answering";

/** The control of the step's type. Photos and location are separate, as they apply to any type. */
const CONTROLS: Readonly<Record<Exclude<StepType, "photo" | "instruction">, FunctionComponent<AnswerProps>>> = {
  boolean: BooleanControl,
  number: NumberControl,
  choice: ChoiceControl,
  multi_choice: ChoiceControl,
  text: TextControl,
  rating: RatingControl,
  date: MomentControl,
  time: MomentControl,
  datetime: MomentControl,
  signature: StepSignatureControl,
  scan: ScanControl,
};

interface AnswerControlProps extends Omit<AnswerProps, "value" | "onChange" | "onProblem"> {
  answering: Answering;
}

export function AnswerControl({ answering: { value, keep, empty, refuse }, ...control }: AnswerControlProps) {
  const Control = (CONTROLS as Partial<Record<StepType, FunctionComponent<AnswerProps>>>)[control.step.type];
  return (
    Control && (
      <Control
        {...control}
        value={value}
        onChange={(next) => (next === null || next === "" ? empty() : keep(next))}
        onProblem={(error) => refuse(error === null ? null : { path: "value", code: "text", message: error })}
      />
    )
  );
}
