/**
 * State of the template editor: the draft with its undo history, the service's problems, and saving. All edits go
 * through `change`; a rejection, a conflict or a reload does not lose any.
 */
import { batch, computed, effect, signal } from "@preact/signals";

import {
  allSteps,
  anchored,
  asDraft,
  brokenConditions,
  hasUnfinishedCondition,
  isSameTemplate,
  merge,
  readJson,
  remainingProblems,
  stepMap,
  withReadableIds,
  type Anchored,
  type Draft,
  type Side,
} from "../../../core/authoring";
import { ApiError } from "../../client";
import { keep, type KeptDraft } from "./kept_draft";
import { createTemplate, readTemplate, restoreVersion, saveTemplate, storedOf, type ManagedBy, type Stored } from "./templates_api";
import { suggestedName } from "./suggested_name";

/** Changes of the same field within this time are one undo step. */
const ONE_CHANGE_MS = 1_500;
const HISTORY = 200;
const KEEP_AFTER_MS = 300;

export interface Start {
  readonly org: string;
  readonly key: string;
  /** null: not stored yet. */
  readonly stored: Stored | null;
  readonly draft: Draft;
  readonly kept: KeptDraft | null;
  readonly readOnly: boolean;
}

export interface Conflict {
  readonly v: number;
  readonly theirs: Draft;
  readonly updatedAt: string;
}

export type SaveOutcome = { readonly kind: "saved"; readonly stored: Stored; readonly isNew: boolean } | { readonly kind: "refused" | "conflict" };

export class EditorState {
  readonly draft = signal<Draft>({ name: "", sections: [] });
  /** The JSON view's text, if it cannot be shown as a template. */
  readonly text = signal<string | null>(null);
  readonly stored = signal<Stored | null>(null);
  readonly problems = signal<readonly Anchored[]>([]);
  /** Why saving failed. */
  readonly error = signal<ApiError | null>(null);
  readonly saving = signal(false);
  readonly conflict = signal<Conflict | null>(null);
  /** Whether the conflict dialog is open; otherwise a message is shown. */
  readonly comparing = signal(false);
  /** Another person has deleted the template. */
  readonly gone = signal(false);
  readonly managedBy = signal<ManagedBy | null>(null);
  /** The expanded step. */
  readonly open = signal<string | null>(null);
  /** The next announcement for screen readers. */
  readonly announcement = signal("");
  /** Whether the browser can store the draft. */
  readonly keeps = signal(true);
  readonly steps = computed(() => stepMap(this.draft.value));
  readonly broken = computed(() => brokenConditions(this.draft.value));
  readonly dirty = computed(() => this.text.value !== null || !isSameTemplate(this.draft.value, this.base.value ?? NOTHING));
  readonly canUndo = computed(() => this.past.value.length > 0);
  readonly canRedo = computed(() => this.future.value.length > 0);
  readonly readOnly = computed(() => this.forbidden || this.managedBy.value !== null);
  /** Takes what is typed in the JSON view, which otherwise waits for a pause. */
  flush: () => void = () => undefined;

  /** The base of comparison and merge; null while not stored. */
  private readonly base = signal<Draft | null>(null);
  private readonly past = signal<readonly Draft[]>([]);
  private readonly future = signal<readonly Draft[]>([]);
  private last = { key: "", at: 0 };
  private readonly forbidden: boolean;
  private request = { body: "", key: "" };

  constructor(private readonly start: Start) {
    this.forbidden = start.readOnly;
    const { stored, kept } = start;
    this.stored.value = stored;
    this.managedBy.value = stored?.managedBy ?? null;
    this.base.value = stored?.draft ?? null;
    this.draft.value = kept?.draft ?? start.draft;
    this.text.value = kept?.text ?? null;
    if (stored !== null && kept !== null && kept.v !== null && kept.base !== null && kept.v !== stored.v) {
      // The edit began with an earlier version: it is continued from there, as a conflict.
      this.base.value = kept.base;
      this.stored.value = { ...stored, v: kept.v, draft: kept.base };
      this.conflict.value = conflictWith(stored);
      this.comparing.value = true;
    }
  }

  get org(): string {
    return this.start.org;
  }

  get id(): string | null {
    return this.stored.peek()?.id ?? null;
  }

  /** `key` names the field: consecutive changes of one field are one undo step. */
  change(next: Draft, key = ""): void {
    const before = this.draft.peek();
    if (next === before || this.readOnly.peek()) return;
    const now = Date.now();
    const same = key !== "" && key === this.last.key && now - this.last.at < ONE_CHANGE_MS;
    this.last = { key, at: now };
    batch(() => {
      if (!same) this.past.value = [...this.past.peek(), before].slice(-HISTORY);
      this.future.value = [];
      this.setDraft(next);
    });
  }

  undo(): void {
    this.shift(this.past, this.future, "Undone.");
  }

  redo(): void {
    this.shift(this.future, this.past, "Redone.");
  }

  private shift(from: typeof this.past, to: typeof this.past, text: string): void {
    const next = from.peek().at(-1);
    if (next === undefined) return;
    this.last = { key: "", at: 0 };
    batch(() => {
      from.value = from.peek().slice(0, -1);
      to.value = [...to.peek(), this.draft.peek()];
      this.setDraft(next);
      this.announce(text);
    });
  }

  private setDraft(next: Draft): void {
    if (this.error.peek()?.code === BROKEN) this.error.value = null;
    this.problems.value = remainingProblems(this.problems.peek(), this.draft.peek(), next);
    this.draft.value = next;
    this.text.value = null;
    if (this.open.peek() !== null && !this.steps.value.has(this.open.peek() ?? "")) this.open.value = null;
  }

  /** Sets the JSON view's text. A valid template becomes the draft; anything else is kept as text. */
  write(text: string): void {
    if (this.readOnly.peek()) return;
    const read = readJson(text);
    const next = read.ok ? asDraft(read.value) : null;
    if (next === null) this.text.value = text;
    else if (isSameTemplate(next, this.draft.peek())) this.text.value = null;
    else this.change(next, "json");
  }

  /** Returns to the last state that was a template. */
  discardText(): void {
    this.setDraft(this.draft.peek());
  }

  announce(text: string): void {
    this.announcement.value = text === this.announcement.peek() ? `${text}\u00a0` : text;
  }

  /** Stores unsaved edits for a reload; the returned function stops that and removes them. */
  persist(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const write = () => {
      clearTimeout(timer);
      this.keeps.value = this.keepAs(this.start.key);
    };
    const stop = effect(() => {
      void [this.draft.value, this.text.value, this.base.value];
      clearTimeout(timer);
      timer = setTimeout(write, KEEP_AFTER_MS);
    });
    addEventListener("pagehide", write);
    return () => {
      stop();
      clearTimeout(timer);
      removeEventListener("pagehide", write);
      keep(this.start.key, null);
    };
  }

  /** Stores unsaved edits under the key, or removes what it has. Returns whether that worked. */
  keepAs(key: string): boolean {
    const stored = this.stored.peek();
    const kept = { v: stored?.v ?? null, base: this.base.peek(), draft: this.draft.peek(), text: this.text.peek() };
    return keep(key, this.dirty.peek() ? kept : null);
  }

  /** Names a template that is not stored yet and has no name. */
  takeSuggestedName(): void {
    const draft = this.draft.peek();
    if (this.stored.peek() !== null || this.text.peek() !== null || draft.name.trim() !== "") return;
    const name = suggestedName(draft);
    if (name !== "") this.change({ ...draft, name });
  }

  async save(): Promise<SaveOutcome> {
    if (this.saving.peek()) return { kind: "refused" };
    this.flush();
    const body = this.payload();
    if (body === null) return { kind: "refused" };
    const sent = { draft: this.draft.peek(), text: this.text.peek() };
    this.saving.value = true;
    this.error.value = null;
    try {
      const before = this.stored.peek();
      const stored = before === null ? await createTemplate(this.org, body, this.keyFor(body)) : await saveTemplate(this.org, before.id, body, before.v);
      this.saved(stored, sent);
      return { kind: "saved", stored, isNew: before === null };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return await this.refused(error, body);
    } finally {
      this.saving.value = false;
    }
  }

  /** null: the draft cannot be sent, and the page shows why. */
  private payload(): Draft | null {
    const text = this.text.peek();
    if (text !== null) {
      const read = readJson(text);
      if (read.ok) return read.value as Draft;
      this.error.value = new ApiError(0, BROKEN, `The JSON is broken on line ${read.line}: ${read.message} Nothing was saved.`);
      return null;
    }
    const before = this.draft.peek();
    const unfinished = this.unfinished(before);
    if (unfinished.length > 0) {
      this.problems.value = unfinished;
      this.error.value = new ApiError(0, UNFINISHED, "A condition is not finished.", unfinished);
      return null;
    }
    const named = withReadableIds(before);
    if (named === before) return before;
    const order = allSteps(before);
    const open = order.findIndex((step) => step.id === this.open.peek());
    const was = this.problems.peek();
    this.change(named);
    this.problems.value = was.filter((problem) => problem.owner === null);
    if (open >= 0) this.open.value = allSteps(named)[open]?.id ?? null;
    return named;
  }

  private unfinished(draft: Draft): readonly Anchored[] {
    const message = "Finish this condition, or remove it.";
    return allSteps(draft).flatMap((step) => (hasUnfinishedCondition(step) ? [{ path: "", code: UNFINISHED, message, owner: step.id, field: "condition" }] : []));
  }

  private keyFor(body: Draft): string {
    const text = JSON.stringify(body);
    if (this.request.body !== text) this.request = { body: text, key: crypto.randomUUID() };
    return this.request.key;
  }

  private saved(stored: Stored, sent: { readonly draft: Draft; readonly text: string | null }): void {
    this.flush();
    batch(() => {
      this.stored.value = stored;
      this.base.value = stored.draft;
      this.endConflict();
      this.problems.value = [];
      // Edits made during the request stay unsaved.
      if (this.draft.peek() === sent.draft && this.text.peek() === sent.text) this.setDraft(stored.draft);
    });
  }

  private async refused(error: ApiError, body: Draft): Promise<SaveOutcome> {
    if (error.code === "version_conflict") return this.loadConflict(error);
    if (error.code === "template_managed") this.managedBy.value = managerIn(error);
    this.problems.value = error.problems.map((problem) => anchored(problem, asDraft(body) ?? NOTHING));
    this.error.value = error;
    return { kind: "refused" };
  }

  private async loadConflict(refusal: ApiError): Promise<SaveOutcome> {
    const id = this.id;
    try {
      if (id === null) throw refusal;
      const { current } = (refusal.details ?? {}) as { current?: object };
      this.conflict.value = conflictWith(current === undefined ? await readTemplate(this.org, id) : storedOf(current));
      this.comparing.value = true;
      return { kind: "conflict" };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
      return { kind: "refused" };
    }
  }

  /** What each side changed, and the conflicts. */
  merged(choices: ReadonlyMap<string, Side>) {
    const { theirs } = this.conflict.value ?? { theirs: NOTHING };
    return merge(this.base.value ?? NOTHING, this.draft.value, theirs, choices);
  }

  baseDraft(): Draft {
    return this.base.value ?? NOTHING;
  }

  /** Continues with the merged changes; not saved yet. */
  applyMerged(choices: ReadonlyMap<string, Side>): void {
    if (this.text.peek() !== null) {
      this.comparing.value = false;
      this.error.value = new ApiError(0, BROKEN, "The text in the JSON view is no template, so it cannot be merged. Fix or discard it first.");
      return;
    }
    this.takeTheirs(this.merged(choices).draft);
    this.announce("Your changes are merged into the newer version. They are not saved yet.");
  }

  /** Makes the next save replace the other version; it also sends the JSON view's text. */
  overwrite(): void {
    this.takeTheirs(this.draft.peek(), this.text.peek());
  }

  discard(): void {
    const conflict = this.conflict.peek();
    this.takeTheirs(conflict?.theirs ?? this.base.peek() ?? NOTHING);
    this.past.value = [];
    this.future.value = [];
  }

  private takeTheirs(next: Draft, text: string | null = null): void {
    const [conflict, stored] = [this.conflict.peek(), this.stored.peek()];
    batch(() => {
      if (conflict !== null && stored !== null) {
        this.stored.value = { ...stored, v: conflict.v, draft: conflict.theirs, updatedAt: conflict.updatedAt };
        this.base.value = conflict.theirs;
      }
      this.endConflict();
      this.error.value = null;
      this.change(next);
      this.text.value = text;
    });
  }

  private endConflict(): void {
    this.conflict.value = null;
    this.comparing.value = false;
  }

  /**
   * Called after a possible change by another person: without unsaved edits, the newer version is shown and returned;
   * otherwise the conflict is shown before saving.
   */
  async refresh(): Promise<number | null> {
    const found = await this.reload();
    const own = this.stored.peek();
    this.flush();
    // The response to the person's own save shows its result.
    if (found === null || own === null || this.saving.peek() || found.v < own.v) return null;
    if (this.dirty.peek()) {
      if (found.v > own.v && !this.comparing.peek()) this.conflict.value = conflictWith(found);
      return null;
    }
    this.managedBy.value = found.managedBy;
    if (found.v === own.v) return null;
    this.reset(found);
    return found.v;
  }

  private async reload(): Promise<Stored | null> {
    try {
      return this.id === null ? null : await readTemplate(this.org, this.id);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Other errors are shown when saving.
      if (error.status === 404) this.gone.value = true;
      return null;
    }
  }

  /** Restores an earlier version. Throws ApiError. */
  async restore(v: number): Promise<Stored> {
    const own = this.stored.peek();
    if (own === null) throw new Error("what is not stored has no versions");
    this.saving.value = true;
    try {
      const stored = await restoreVersion(this.org, own.id, v, own.v);
      this.reset(stored);
      return stored;
    } finally {
      this.saving.value = false;
    }
  }

  private reset(stored: Stored): void {
    batch(() => {
      this.endConflict();
      this.stored.value = stored;
      this.base.value = stored.draft;
      this.problems.value = [];
      this.error.value = null;
      this.past.value = [];
      this.future.value = [];
      this.setDraft(stored.draft);
    });
  }
}

const BROKEN = "broken_json";
const UNFINISHED = "unfinished_condition";
const NOTHING: Draft = { name: "", sections: [] };

function conflictWith({ v, draft, updatedAt }: Stored): Conflict {
  return { v, theirs: draft, updatedAt };
}

function managerIn(error: ApiError): ManagedBy {
  const found = (error.details as { managed_by?: ManagedBy } | null)?.managed_by;
  return found ?? { manager: "GitOps", reason: error.message };
}
