import type { JsonValue, Step } from "../../core";

/** Props of every control. */
export interface ControlProps {
  /** Id of the input element; unique on the page. */
  id: string;
  /** Id of the element with the question. */
  labelledBy: string;
  /** Ids of the hint and the error, separated by spaces. */
  describedBy?: string | undefined;
  required?: boolean;
  invalid?: boolean;
  disabled?: boolean;
  /** Whether typed text is not passed on yet: the input is newer than the stored value. */
  onTyping?: ((typing: boolean) => void) | undefined;
}

/**
 * Props of the control of a step type. Controls do not depend on runs: plain values in and out, so that the checklist
 * and the template editor's preview use the same ones.
 */
export interface AnswerProps extends ControlProps {
  step: Step;
  value: JsonValue;
  /** Including drawings. */
  photos: readonly { readonly thumbnailUrl: string | null }[];
  /** The name of the person who answers, if it is known. */
  signer?: string | undefined;
  now(): Date;
  /** null: the field was emptied, or its text is not an answer. */
  onChange(value: JsonValue): Promise<void> | void;
  /** The problem of the field, reported when it loses focus, and cleared as soon as it is valid. */
  onProblem(error: string | null): void;
  onDraw(drawing: Blob | null): Promise<void> | void;
}

/** The ARIA attributes of an input element. */
export function wiring({ labelledBy, describedBy, required, invalid }: Omit<ControlProps, "id">) {
  return {
    "aria-labelledby": labelledBy,
    "aria-describedby": describedBy || undefined,
    "aria-required": required ? ("true" as const) : undefined,
    "aria-invalid": invalid ? ("true" as const) : undefined,
  };
}

/** Joins the ids that exist. */
export function ids(...parts: (string | false | null | undefined)[]): string | undefined {
  return parts.filter(Boolean).join(" ") || undefined;
}
