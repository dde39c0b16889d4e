/** One step of a checklist in a document, for tests of its card. */
import type { ServerRun, Step } from "../../core";
import { mount } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { runOf } from "../fixture/checklist";
import { type MemoryStore, memoryStore } from "../fixture/memory_store";
import { createPage, type Page } from "../page";
import { step as textStep, template } from "../store/testing/templates";
import type { LocalAnswer, LocalPhoto } from "../store/types";
import { StepBody } from "../views/step_body";

export interface StepScreen {
  readonly place: HTMLElement;
  readonly store: MemoryStore;
  readonly page: Page;
}

export const GIVEN: LocalAnswer = { value: null, geo: null, photos: [], skipped: false, pending: false, problem: null, flagged: false, note: null };

export function photo(key: string, more: Partial<LocalPhoto> = {}): LocalPhoto {
  return { key, index: 0, url: "blob:x", thumbnailUrl: "blob:x", served: null, state: "sent", progress: 1, error: null, problem: null, ...more };
}

/** The card of the step, with an answer as the store shows it. */
export async function stepScreen(more: Partial<Step>, answer?: Partial<LocalAnswer>, makePage = createPage): Promise<StepScreen> {
  const step = textStep("s-one", more);
  const run: ServerRun = runOf(template([step]));
  const store = memoryStore(run);
  if (answer !== undefined) store.answers.value = new Map([[step.id, { ...GIVEN, ...answer }]]);
  const page = makePage(store);
  const place = await mount(
    <AppContext.Provider value={{ store, page }}>
      <StepBody step={step} />
    </AppContext.Provider>,
  );
  return { place, store, page };
}
