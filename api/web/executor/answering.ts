import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { dateOf, hasVisibleText, isFlagged, type JsonValue, lengthOf, localTimestamp, MAX_NOTE, type Problem, type Step, kindOf, validateValue } from "../core";
import { locate, type Place } from "../kit/controls/geolocation";
import type { PlaceState } from "../kit/controls/location";
import { isKept, useApp } from "./context";
import type { Held } from "./page";
import type { LocalAnswer } from "./store/types";

export interface Answering {
  /** The displayed value: the stored one, or rejected input. */
  readonly value: JsonValue;
  /** The problem of the rejected input. */
  readonly problem: Problem | null;
  readonly place: Place | null;
  readonly placeState: PlaceState;
  keep(value: JsonValue): Promise<void>;
  /** Called when the field was emptied. */
  empty(): Promise<void>;
  /** Reports text that is not a value, e.g. letters in a number field (code `text`); null once it is valid. */
  refuse(problem: Problem | null): void;
  /** Discards the rejected input. */
  drop(): void;
  askPlace(): Promise<void>;
  /** Stores the note of a flagged answer. Rejects if there is no room for it. */
  keepNote(text: string): Promise<void>;
  /** Called when the control loses focus: requests the location. */
  leave(): void;
}

/**
 * Whether the person has chosen too few options so far, and has not gone on to another step: that is no mistake yet. A
 * press on an option's label takes the focus from the card for a moment, so only focus elsewhere counts.
 */
export function useStillChoosing(stepId: string, card: { readonly current: HTMLElement | null }): boolean {
  const { page } = useApp();
  const tooFew = useComputed(() => isTooFew(page.held.value.get(stepId)?.problem) && !page.tried.value).value;
  const [left, setLeft] = useState(false);
  useEffect(() => {
    setLeft(false);
    if (!tooFew) return;
    const onFocus = ({ target }: FocusEvent) => target instanceof Node && !card.current?.contains(target) && setLeft(true);
    document.addEventListener("focusin", onFocus);
    return () => document.removeEventListener("focusin", onFocus);
  }, [tooFew]);
  return tooFew && !left;
}

function isTooFew(problem: Problem | undefined): boolean {
  return problem?.path === "value" && problem.code === "too_few";
}

/** Called when an answer was stored. `isFirst`: the step had none before. */
export type Given = (isFirst: boolean) => void;

/**
 * Connects a control to the store for one step: invalid input stays on screen with its problem, the location is
 * requested when needed, and everything else is stored at once.
 */
export function useAnswering(step: Step, answer: ReadonlySignal<LocalAnswer | undefined>, onGiven?: Given): Answering {
  const { store, page } = useApp();
  const held = useComputed(() => page.held.value.get(step.id) ?? null);
  const placeState = useSignal<PlaceState>("idle");
  const found = useRef<Place | null>(null);
  const wanted = useRef(false);
  const turn = useRef(0);
  /** The last note, in case the answer is flagged again. */
  const noted = useRef<string | null>(null);

  const hold = (next: Held | null) => page.hold(step.id, next);
  // Text that is not a value exists in its field only and is lost with it. Everything else is restored with the card.
  useEffect(() => () => void (held.peek()?.problem.code === "text" && hold(null)), []);

  const place = (): Place | null => answer.peek()?.geo ?? found.current;

  const keep = async (value: JsonValue): Promise<void> => {
    turn.current += 1;
    const verdict = validateValue(step, value);
    if (verdict.problem !== null) return hold({ value, problem: verdict.problem });
    const needsPlace = step.geo && place() === null;
    if (needsPlace && step.geo_required) hold({ value, problem: { path: "geo", code: "geo_required" } });
    else await put(verdict.value);
    if (!needsPlace || placeState.peek() === "denied") return;
    // The permission prompt must not interrupt the typing.
    if (kindOf(step).field === "typed") wanted.current = true;
    else await askPlace();
  };

  const flags = (value: JsonValue): boolean => isFlagged(step, value, dateOf(localTimestamp(store.now())));

  const noteFor = (value: JsonValue): string | null => {
    noted.current = answer.peek()?.note ?? noted.current;
    return flags(value) ? noted.current : null;
  };

  const put = async (value: JsonValue): Promise<void> => {
    const mine = turn.current;
    const before = answer.peek();
    const note = noteFor(value);
    const kept = await page.track(step.id, isKept(store.answer(step.id, value, step.geo ? place() : null, note)));
    // The displayed value may be newer by now.
    if (turn.current !== mine) return;
    hold(kept ? null : { value, problem: { path: "value", code: "storage_full" } });
    // A flagged answer stays in view: the person reads why, and may have to add a note or photos.
    if (kept && !flags(value)) onGiven?.(before === undefined || before.skipped || before.value === null);
  };

  const askPlace = async (): Promise<void> => {
    if (placeState.peek() === "finding") return;
    wanted.current = false;
    placeState.value = "finding";
    const place = await locate();
    if (typeof place === "string") {
      placeState.value = place;
      return;
    }
    placeState.value = "idle";
    found.current = place;
    const waiting = held.peek();
    const kept = store.answers.peek().get(step.id);
    if (waiting?.problem.code === "geo_required") await put(waiting.value);
    else if (kept !== undefined && !kept.skipped) await replacePlace(kept.value, place);
  };

  const replacePlace = async (value: JsonValue, place: Place): Promise<void> => {
    // A step with photos but no value has no answer that a location could belong to.
    if (value === null && kindOf(step).takes !== "photos") return;
    await isKept(store.answer(step.id, value, place, answer.peek()?.note ?? null));
  };

  const keepNote = async (text: string): Promise<void> => {
    const [kept, note] = [answer.peek(), hasVisibleText(text) ? text.trim() : null];
    if (note !== null && lengthOf(note) > MAX_NOTE) return;
    noted.current = note;
    if (kept === undefined || kept.skipped || !kept.flagged || kept.note === note) return;
    if (!(await isKept(store.answer(step.id, kept.value, kept.geo, note)))) throw new Error("The note is not kept.");
  };

  return {
    value: held.value === null ? (answer.value?.value ?? null) : held.value.value,
    problem: held.value?.problem ?? null,
    place: answer.value?.geo ?? found.current,
    placeState: placeState.value,
    keep,
    async empty() {
      const kept = answer.peek();
      if (kept === undefined || kept.photos.length === 0) {
        hold(null);
        if (kept !== undefined && kept.value !== null) await isKept(store.clear(step.id));
      } else if (kindOf(step).mayBeEmpty) await keep("");
      // Clearing the answer would remove its photos, which emptying a field must not do.
      else hold({ value: null, problem: { path: "value", code: "blank" } });
    },
    refuse(problem) {
      if (problem !== null) hold({ value: answer.peek()?.value ?? null, problem });
      else if (held.peek()?.problem.code === "text") hold(null);
    },
    drop() {
      // The next answer may be given at another location.
      found.current = null;
      noted.current = null;
      hold(null);
    },
    askPlace,
    keepNote,
    leave() {
      if (wanted.current) void askPlace();
    },
  };
}
