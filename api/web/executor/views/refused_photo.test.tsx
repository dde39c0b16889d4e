// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";

import { all, one, text } from "../../kit/testing/mount";
import { photo, stepScreen } from "../testing/step_screen";

const REFUSED = photo("p-2", { index: null, state: "refused", error: "not_an_image", problem: { path: "photo", code: "not_an_image" } });
const PHOTOS = { type: "photo", required: true, config: { min: 2, max: 2 } } as const;

describe("a photo that the service has refused", () => {
  test("shows its reason at the step, and the step is not saved", async () => {
    const { place } = await stepScreen(PHOTOS, { photos: [photo("p-1"), REFUSED] });
    expect(text(one(place, ".photo-refused"))).toBe("Photo 2: This file is not a photo.");
    expect(text(one(place, ".step-state"))).toBe("Not accepted");
    expect(one(place, ".step-state").classList).not.toContain("is-good");
    expect(one(place, "article").classList).toContain("is-wrong");
  });

  test("does not count, and takes no place", async () => {
    const { place } = await stepScreen(PHOTOS, { photos: [photo("p-1"), REFUSED] });
    expect(text(one(place, ".photo-count"))).toBe("1 of 2 needed");
    expect(all(place, ".photo-buttons button")).toHaveLength(1);
  });

  test("is no answer of a step that asks for one photo", async () => {
    const { place } = await stepScreen({ type: "photo", required: true, config: { min: 1, max: 3 } }, { photos: [REFUSED] });
    expect(text(one(place, ".photo-count"))).toBe("1 photo needed");
    expect(all(place, ".photo-count .icon")).toEqual([]);
  });

  test("leaves the other photos of the step complete", async () => {
    const { place } = await stepScreen({ type: "photo", config: { min: 1, max: 3 } }, { photos: [photo("p-1"), REFUSED] });
    expect(text(one(place, ".photo-count"))).toBe("1 photo · Up to 3 photos");
    expect(text(one(place, ".step-state"))).toBe("Not accepted");
  });
});
