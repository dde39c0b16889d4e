/** Splits a prompt into the parts that became steps and the parts that were not used. */
import type { PromptPart, StepOrigin } from "../types";

export interface PromptPiece {
  readonly text: string;
  /** Ids of the steps made from this part, in the template's order. */
  readonly steps: readonly string[];
  /** Whether the part was not used. A part without steps that is not unused only qualifies a step. */
  readonly unused: boolean;
}

/**
 * The parts, which together are the whole prompt. The service's offsets count Unicode code points, not UTF-16 units.
 */
export function promptPieces(prompt: string, origins: readonly StepOrigin[], unused: readonly PromptPart[]): PromptPiece[] {
  const characters = Array.from(prompt);
  const sources = origins.flatMap(({ step_id, source }) => (source === null ? [] : [{ ...source, step_id }]));
  const ends = [...sources, ...unused].flatMap(({ start, end }) => [start, end]).filter((at) => at < characters.length);
  const cuts = [...new Set([0, ...ends, characters.length])].sort((one, other) => one - other);
  return cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? 0;
    const within = (part: PromptPart) => part.start <= start && end <= part.end;
    const steps = sources.filter(within).map((source) => source.step_id);
    return { text: characters.slice(start, end).join(""), steps, unused: steps.length === 0 && unused.some(within) };
  });
}
