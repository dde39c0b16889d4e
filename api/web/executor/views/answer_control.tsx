import { useMemo } from "preact/hooks";

import { optionsOf, ratingBounds, readNumber, type Step, textLimit } from "../../core";
import { problemText } from "../../kit/i18n";
import { BooleanControl } from "../../kit/controls/boolean";
import { ChoiceControl } from "../../kit/controls/choice";
import type { ControlProps } from "../../kit/controls/control";
import { MomentControl } from "../../kit/controls/moment";
import { NumberControl } from "../../kit/controls/number";
import { RatingControl } from "../../kit/controls/rating";
import { ScanControl } from "../../kit/controls/scan";
import { SignatureControl } from "../../kit/controls/signature";
import { TextControl } from "../../kit/controls/text";
import { t, translator } from "../../kit/language";
import type { Answering } from "../answering";
import type { LocalPhoto } from "../store/types";

interface AnswerControlProps extends ControlProps {
  step: Step;
  answering: Answering;
  photos: readonly LocalPhoto[];
  now(): Date;
  onDraw(drawing: Blob | null): Promise<void>;
}

/** The control that a step's type calls for. Photos and place are beside it, as they belong to any type. */
export function AnswerControl({ step, answering, photos, now, onDraw, ...control }: AnswerControlProps) {
  const { config } = step;
  const { value, keep, empty, refuse } = answering;
  const onProblem = (error: string | null) => refuse(error === null ? null : { path: "value", code: "text", message: error });
  const text = typeof value === "string" ? value : "";
  const keepText = (next: string) => (next === "" ? empty() : keep(next));
  switch (step.type) {
    case "boolean":
      return (
        <BooleanControl
          {...control}
          value={typeof value === "boolean" ? value : null}
          trueLabel={config.true_label || t("app.yes")}
          falseLabel={config.false_label || t("app.no")}
          onChange={keep}
        />
      );
    case "number":
      return <Numbers {...{ step, answering, control, onProblem }} />;
    case "choice":
      return (
        <ChoiceControl
          {...control}
          label={step.label}
          options={optionsOf(step)}
          chosen={text === "" ? [] : [text]}
          onChange={([chosen]) => chosen !== undefined && void keep(chosen)}
        />
      );
    case "multi_choice": {
      const chosen = Array.isArray(value) ? value.map(String) : [];
      const change = (next: string[]) => void (next.length === 0 ? empty() : keep(next));
      return <ChoiceControl {...control} multiple label={step.label} options={optionsOf(step)} chosen={chosen} onChange={change} />;
    }
    case "text":
      return (
        <TextControl
          {...control}
          value={text}
          limit={textLimit(step)}
          multiline={config.multiline ?? false}
          placeholder={config.placeholder ?? ""}
          onChange={keepText}
        />
      );
    case "scan":
      return <ScanControl {...control} value={text} onChange={keepText} />;
    case "rating":
      return (
        <RatingControl
          {...control}
          {...ratingBounds(step)}
          value={typeof value === "number" ? value : null}
          lowLabel={config.low_label ?? ""}
          highLabel={config.high_label ?? ""}
          onChange={keep}
        />
      );
    case "date":
    case "time":
    case "datetime":
      return (
        <MomentControl
          {...control}
          kind={step.type}
          value={text === "" ? null : text}
          now={now}
          onChange={(next) => (next === null ? empty() : keep(next))}
          onProblem={onProblem}
        />
      );
    case "signature": {
      const name = value !== null && typeof value === "object" && "name" in value ? String(value["name"]) : "";
      return (
        <SignatureControl
          id={control.id}
          name={name}
          drawing={photos.at(-1)?.thumbnailUrl ?? null}
          describedBy={control.describedBy}
          disabled={control.disabled ?? false}
          onName={(next) => (next.trim() === "" ? empty() : keep({ name: next }))}
          onDraw={onDraw}
          onTyping={control.onTyping}
        />
      );
    }
    case "photo":
    case "instruction":
      return null;
  }
}

interface NumbersProps {
  step: Step;
  answering: Answering;
  control: ControlProps;
  onProblem(error: string | null): void;
}

function Numbers({ step, answering, control, onProblem }: NumbersProps) {
  const { value, keep, empty } = answering;
  const language = translator.value;
  const group = useMemo(() => groupSign(language.locale), [language.locale]);
  return (
    <NumberControl
      {...control}
      value={typeof value === "number" ? value : null}
      unit={step.config.unit ?? ""}
      signed={step.config.min == null || step.config.min < 0}
      read={(text) => {
        if (text.trim() === "") return null;
        const reading = readNumber(text, group);
        return reading.problem === null ? reading.value : { error: problemText(language, reading.problem) };
      }}
      onChange={(next) => (next === null ? empty() : keep(next))}
      onProblem={onProblem}
    />
  );
}

function groupSign(locale: string): string {
  return new Intl.NumberFormat(locale).formatToParts(1_111_111).find((part) => part.type === "group")?.value ?? ",";
}
