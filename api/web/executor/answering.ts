import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { type JsonValue, type Problem, type Step, kindOf, validateValue } from "../core";
import { locate, type Place } from "../kit/controls/geolocation";
import type { PlaceState } from "../kit/controls/location";
import { isKept, useApp } from "./context";
import type { Held } from "./page";
import type { LocalAnswer } from "./store/types";

export interface Answering {
  /** What is on screen: what is kept, or what was given and cannot be kept. */
  readonly value: JsonValue;
  /** Why what is on screen is not kept. */
  readonly problem: Problem | null;
  readonly place: Place | null;
  readonly placeState: PlaceState;
  keep(value: JsonValue): Promise<void>;
  /** The field was emptied. */
  empty(): Promise<void>;
  /** A text that is no value at all, e.g. letters where a number goes (code `text`); null when it has become one. */
  refuse(problem: Problem | null): void;
  /** What is on screen and not kept is given up. */
  drop(): void;
  askPlace(): Promise<void>;
  /** The person has finished with the control: now is the time to ask for the place. */
  leave(): void;
}

/**
 * What happens between a control and the store for one step: what cannot be an answer is held on screen and said to be
 * so, the place is asked for when it is needed, and everything else is kept at once.
 */
export function useAnswering(step: Step, answer: ReadonlySignal<LocalAnswer | undefined>): Answering {
  const { store, page } = useApp();
  const held = useComputed(() => page.held.value.get(step.id) ?? null);
  const placeState = useSignal<PlaceState>("idle");
  const found = useRef<Place | null>(null);
  const wanted = useRef(false);
  const turn = useRef(0);

  const hold = (next: Held | null) => page.hold(step.id, next);
  // A text that is no value at all is in its field only, and goes with it. Everything else is there again when the card is.
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
    // The question for the place must not interrupt the typing.
    if (kindOf(step).field === "typed") wanted.current = true;
    else await askPlace();
  };

  const put = async (value: JsonValue): Promise<void> => {
    const mine = turn.current;
    const kept = await isKept(store.answer(step.id, value, step.geo ? place() : null));
    // Something newer may be on screen by now.
    if (turn.current === mine) hold(kept ? null : { value, problem: { path: "value", code: "storage_full" } });
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
    // A step that has photos only, and no value yet, has no answer that a place could belong to.
    if (value === null && kindOf(step).takes !== "photos") return;
    await isKept(store.answer(step.id, value, place));
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
      // To clear the answer would take its photos away, which emptying a field does not ask for.
      else hold({ value: null, problem: { path: "value", code: "blank" } });
    },
    refuse(problem) {
      if (problem !== null) hold({ value: answer.peek()?.value ?? null, problem });
      else if (held.peek()?.problem.code === "text") hold(null);
    },
    drop() {
      // The next answer may be given elsewhere.
      found.current = null;
      hold(null);
    },
    askPlace,
    leave() {
      if (wanted.current) void askPlace();
    },
  };
}
