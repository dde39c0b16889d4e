// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { all, mount, text } from "../testing/mount";
import { LocationControl } from "./location";

async function shown(accuracy_m: number | null): Promise<HTMLElement> {
  const value = { lat: 52.52, lng: 13.405, accuracy_m };
  return mount(<LocationControl id="place" labelledBy="question" value={value} state="idle" required={false} onAsk={() => undefined} />);
}

test.each([
  [12.2, ["Location added", "Accurate to about 13 m"]],
  [null, ["Location added"]],
])("a location that is accurate to %s m is added", async (accuracy, texts) => {
  const place = await shown(accuracy);
  expect(all(place, "[role=status] p").map(text)).toEqual(texts);
  expect(all(place, ".location-good")).toHaveLength(1);
});

test("a location that is accurate to 1.8 km is called a rough one, with what to do", async () => {
  const place = await shown(1_790);
  expect(all(place, "[role=status] p").map(text)).toEqual([
    "Only a rough location",
    "Accurate to about 1.8 km",
    "Try again near a window or outdoors, or continue with this one.",
  ]);
  expect(all(place, ".location-good")).toEqual([]);
});
