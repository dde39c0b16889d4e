/** What is typed and not saved outlives a reload of its tab: in the tab's own storage, by person, template and version. */
import { asDraft, type Draft } from "../../../core/authoring";

export interface KeptDraft {
  /** The version that the work began with; null for a new template. */
  readonly v: number | null;
  readonly base: Draft | null;
  readonly draft: Draft;
  /** The JSON view's text, where it is no template (yet). */
  readonly text: string | null;
}

const PREFIX = "checklists.template";

/** `member` is who works, `id` the template or "new". */
export function draftKey(member: string, id: string): string {
  return `${PREFIX}.${member}.${id}`;
}

export function readKept(key: string): KeptDraft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as KeptDraft | null;
    return kept !== null && asDraft(kept.draft) !== null && (kept.base === null || asDraft(kept.base) !== null) ? kept : null;
  } catch {
    return null;
  }
}

/** null takes it away. Whether it is kept: a browser may have no room, or keep nothing at all. */
export function keep(key: string, kept: KeptDraft | null): boolean {
  try {
    if (kept === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}
