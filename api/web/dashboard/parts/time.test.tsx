// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { mount, text } from "../../kit/testing/mount";
import { LastUse } from "./time";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

test.each([
  [0, "within the last hour"],
  [20, "within the last hour"],
  [59, "within the last hour"],
  [125, "2 hours ago"],
])("a use that was stored %s minutes ago", async (minutes, shown) => {
  const place = await mount(<LastUse at={ago(minutes)} />);
  expect(text(place)).toMatch(new RegExp(`^${shown}`));
});
