// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { mount, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { stateNamed } from "../fixture/states";
import { createPage } from "../page";
import { Cancelled } from "./closed";

const SENTENCE = "Nordfrost Logistics has the answers you gave until then.";

async function cancelled(isAnswered: boolean): Promise<string> {
  const store = stateNamed("cancelled", 0);
  const run = store.run.value;
  if (run === null) throw new Error("The fixture has a run.");
  if (!isAnswered) store.run.value = { ...run, answers: {} };
  const place = await mount(
    <AppContext.Provider value={{ store, page: createPage(store) }}>
      <Cancelled />
    </AppContext.Provider>,
  );
  return text(place);
}

test("a stopped checklist says who has the answers, if there are any", async () => {
  expect(await cancelled(true)).toContain(SENTENCE);
  const fresh = await cancelled(false);
  expect(fresh).toContain("This checklist was stopped");
  expect(fresh).not.toContain("answers you gave");
});
