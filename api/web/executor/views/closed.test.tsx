// @vitest-environment happy-dom
import type { JSX } from "preact";
import { expect, test } from "vitest";

import { mount, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { stateNamed } from "../fixture/states";
import { createPage } from "../page";
import { Cancelled, Expired } from "./closed";

const SENTENCE = "Nordfrost Logistics has the answers you gave until then.";

type Store = ReturnType<typeof stateNamed>;

async function shown(store: Store, View: () => JSX.Element): Promise<string> {
  const place = await mount(
    <AppContext.Provider value={{ store, page: createPage(store) }}>
      <View />
    </AppContext.Provider>,
  );
  return text(place);
}

async function cancelled(isAnswered: boolean): Promise<string> {
  const store = stateNamed("cancelled", 0);
  const run = store.run.value;
  if (run === null) throw new Error("The fixture has a run.");
  if (!isAnswered) store.run.value = { ...run, answers: {} };
  return shown(store, Cancelled);
}

test("a stopped checklist says who has the answers, if there are any", async () => {
  expect(await cancelled(true)).toContain(SENTENCE);
  const fresh = await cancelled(false);
  expect(fresh).toContain("This checklist was stopped");
  expect(fresh).not.toContain("answers you gave");
});

test("an expired link names the person to ask, if the device knows the run", async () => {
  const store = stateNamed("expired", 0);
  expect(await shown(store, Expired)).toContain("Ask Nordfrost Logistics for a new link.");
  store.run.value = null;
  store.preview.value = null;
  expect(await shown(store, Expired)).toContain("Ask the person who sent it for a new link.");
});
