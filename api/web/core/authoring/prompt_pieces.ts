/** A prompt cut where parts of it became steps, and where they became nothing. */
import type { PromptPart, StepOrigin } from "../types";

export interface PromptPiece {
  readonly text: string;
  /** Ids of the steps that it became, in the template's order. */
  readonly steps: readonly string[];
  /** Whether it was not used; what is neither says something about a step, or nothing by itself. */
  readonly unused: boolean;
}

/** The pieces, which are the whole prompt together. Offsets are the service's: Unicode code points, not UTF-16 units. */
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
