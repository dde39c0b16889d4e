import type { JsonValue, Step } from "../../core";

/** What every control takes. */
export interface ControlProps {
  /** Of the element that takes the input; unique on the page. */
  id: string;
  /** Id of the element that says what is asked. */
  labelledBy: string;
  /** Ids of the hint and the error, separated by spaces. */
  describedBy?: string | undefined;
  required?: boolean;
  invalid?: boolean;
  disabled?: boolean;
  /** Whether something is typed that has not been handed over: what is on screen is newer than what is kept. */
  onTyping?: ((typing: boolean) => void) | undefined;
}

/**
 * What the control of a step type takes. Controls know nothing of runs: plain values in, plain values out, so that the
 * checklist and the template editor's preview show the same ones.
 */
export interface AnswerProps extends ControlProps {
  step: Step;
  value: JsonValue;
  /** Drawings are among them. */
  photos: readonly { readonly thumbnailUrl: string | null }[];
  now(): Date;
  /** null: the field was emptied, or what it says is no answer. */
  onChange(value: JsonValue): Promise<void> | void;
  /** What is wrong with the field, told once the person has left it, and taken back as soon as it is right. */
  onProblem(error: string | null): void;
  onDraw(drawing: Blob | null): Promise<void> | void;
}

/** The ARIA attributes of an element that takes input. */
export function wiring({ labelledBy, describedBy, required, invalid }: Omit<ControlProps, "id">) {
  return {
    "aria-labelledby": labelledBy,
    "aria-describedby": describedBy || undefined,
    "aria-required": required ? ("true" as const) : undefined,
    "aria-invalid": invalid ? ("true" as const) : undefined,
  };
}

/** Joins the ids that are there. */
export function ids(...parts: (string | false | null | undefined)[]): string | undefined {
  return parts.filter(Boolean).join(" ") || undefined;
}
