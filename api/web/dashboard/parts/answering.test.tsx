// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { act, mount, text } from "../../kit/testing/mount";
import { call } from "../client";
import { liveState } from "../live";
import { signedIn } from "../testing/signed_in";
import { LiveBadge } from "./live_badge";
import { Loading } from "./states";

async function page(): Promise<HTMLElement> {
  liveState.value = "connected";
  return mount(
    <>
      <LiveBadge />
      <Loading what="runs" />
    </>,
  );
}

test("while the service does not answer, a page calls nothing live, and says why it waits", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let answer: (response: Response) => void = () => undefined;
  signedIn("runs", () => new Promise((resolve) => (answer = resolve)));
  const place = await page();
  const called = call("org-1/runs");
  await act(() => void vi.advanceTimersByTime(2_900));
  expect(text(place)).toBe("LiveLoading runs …");
  await act(() => void vi.advanceTimersByTime(200));
  expect(text(place)).toBe("Not answeringLoading runs … The service does not answer yet.");
  await act(async () => {
    answer(Response.json({ data: [] }));
    await called;
  });
  expect(text(place)).toBe("LiveLoading runs …");
  vi.useRealTimers();
});

test("after a call without a response, the page is not live until the service has answered", async () => {
  let isUp = false;
  signedIn("runs", () => (isUp ? Response.json({ data: [] }) : Promise.reject(new TypeError("Failed to fetch"))));
  const place = await page();
  await act(async () => void (await call("org-1/runs").catch(() => undefined)));
  expect(text(place)).toContain("Not answering");
  isUp = true;
  await act(async () => void (await call("org-1/runs")));
  expect(text(place)).toBe("LiveLoading runs …");
});
