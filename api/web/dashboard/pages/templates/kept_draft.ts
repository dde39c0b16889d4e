/** Stores unsaved edits in session storage for a reload, by member, template and version. */
import { asDraft, type Draft } from "../../../core/authoring";

export interface KeptDraft {
  /** The version that the edit is based on; null for a new template. */
  readonly v: number | null;
  readonly base: Draft | null;
  readonly draft: Draft;
  /** The JSON view's text, if it is not a valid template. */
  readonly text: string | null;
}

const PREFIX = "checklists.template";

/** `member` is the editing member, `id` the template or "new". */
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

/** null removes it. Returns whether it was stored: storage may be full or unavailable. */
export function keep(key: string, kept: KeptDraft | null): boolean {
  try {
    if (kept === null) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}
