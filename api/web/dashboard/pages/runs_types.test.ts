// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { progressText, type RunStatus } from "./runs_types";

const PROGRESS = { total: 4, answered: 2, skipped: 1 };

test.each<[RunStatus, string]>([
  ["in_progress", "3 of 4"],
  ["expired", "3 of 4"],
  ["completed", "2 answers"],
])("the progress of a run that is %s, with an optional step left open", (status, shown) => {
  expect(progressText({ status, progress: PROGRESS })).toBe(shown);
});
