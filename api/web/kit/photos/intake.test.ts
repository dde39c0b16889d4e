/** Photos between selection and storage. */

import { describe, expect, test } from "vitest";

import type { Fitted } from "./fitting";
import { allReady, intakeOf, addPhotos } from "./intake";

type Fate = "fits" | "shrinks" | "unfit";

/** Photos whose content is their expected result. */
async function fit(photo: Blob, { onShrinking }: { onShrinking(): void }): Promise<Fitted> {
  const fate = (await photo.text()) as Fate;
  if (fate === "unfit") return { problem: "too_large" };
  if (fate === "shrinks") onShrinking();
  return { photo, madeSmaller: fate === "shrinks" };
}

const photos = (...fates: Fate[]) => fates.map((fate) => new Blob([fate]));
const ignore = () => undefined;

describe("photos that come in", () => {
  test("are stored in order, and unsuitable ones are rejected with a reason", async () => {
    const kept: string[] = [];
    const keep = async (photo: Blob) => void kept.push(await photo.text());
    await addPhotos("order", { photos: photos("fits", "unfit", "shrinks", "shrinks"), refusal: null, keep, fit });
    expect(kept).toEqual(["fits", "shrinks", "shrinks"]);
    expect(intakeOf("order")).toEqual({ waiting: 0, shrinking: false, madeSmaller: 2, refusal: "too_large" });
  });

  test("count towards the maximum until they are stored, and show when one is being resized", async () => {
    const seen: { waiting: number; shrinking: boolean }[] = [];
    const look = async (photo: Blob, options: { onShrinking(): void }): Promise<Fitted> => {
      const found = await fit(photo, options);
      const { waiting, shrinking } = intakeOf("room");
      seen.push({ waiting, shrinking });
      return found;
    };
    await addPhotos("room", { photos: photos("fits", "shrinks"), refusal: null, keep: ignore, fit: look });
    expect(seen).toEqual([
      { waiting: 2, shrinking: false },
      { waiting: 1, shrinking: true },
    ]);
    expect(intakeOf("room")).toMatchObject({ waiting: 0, shrinking: false });
  });

  test("reset the count and the reason", async () => {
    const first = { photos: photos("shrinks", "unfit"), refusal: null, keep: ignore, fit };
    await addPhotos("again", first);
    await addPhotos("again", { ...first, photos: photos("fits") });
    expect(intakeOf("again")).toMatchObject({ madeSmaller: 0, refusal: null });
  });

  test("beyond the maximum are reported, unless another photo has a problem", async () => {
    await addPhotos("many", { photos: photos("fits"), refusal: "too_many", keep: ignore, fit });
    expect(intakeOf("many").refusal).toBe("too_many");
    await addPhotos("many", { photos: photos("unfit"), refusal: "too_many", keep: ignore, fit });
    expect(intakeOf("many").refusal).toBe("too_large");
  });

  test("no longer count after storing one has failed", async () => {
    const broken = addPhotos("broken", { photos: photos("fits", "fits"), refusal: null, keep: () => Promise.reject(new Error("closed")), fit });
    await expect(broken).rejects.toThrow("closed");
    expect(intakeOf("broken")).toMatchObject({ waiting: 0 });
  });

  test("are awaited before a submit, including later ones", async () => {
    const kept: string[] = [];
    const arrival = (name: string) => ({ photos: photos("fits"), refusal: null, fit, keep: () => void kept.push(name) });
    void addPhotos("one", {
      ...arrival("one"),
      keep: () => {
        kept.push("one");
        void addPhotos("another", arrival("another"));
      },
    });
    expect(kept).toEqual([]);
    await allReady();
    expect(kept).toEqual(["one", "another"]);
  });
});
