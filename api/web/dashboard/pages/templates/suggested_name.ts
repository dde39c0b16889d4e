/** A name for a template that has none yet: from its first named section, or else from its first question. */
import { titleOfSection, type Draft } from "../../../core/authoring";

const LONGEST = 60;

/** "" if the draft has no text to take a name from. */
export function suggestedName({ sections }: Draft): string {
  const section = sections.find(({ title }, index) => title.trim() !== "" && title !== titleOfSection(index + 1));
  const question = sections.flatMap(({ steps }) => steps).find(({ label }) => label.trim() !== "");
  const text = (section?.title ?? question?.label ?? "").trim().replace(/[\s?!.:]+$/u, "");
  const letters = [...text];
  if (letters.length <= LONGEST) return text;
  const cut = letters.slice(0, LONGEST).join("");
  // Not in the middle of a word, where there is more than one.
  return `${cut.includes(" ") ? cut.slice(0, cut.lastIndexOf(" ")) : cut} …`;
}
