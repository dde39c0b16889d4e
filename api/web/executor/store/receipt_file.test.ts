import { expect, test } from "vitest";

import { fetchReceipt } from "./receipt_file";
import { RunAddresses } from "./requests";
import { realTimers } from "./timers";

const RUN_ID = "r-00000000-0000-4000-8000-000000000001";
const addresses = new RunAddresses(new URL("https://checklists.example/prefix/v1/"), RUN_ID, "t".repeat(43));
const PDF = { "Content-Type": "application/pdf", "Content-Disposition": "attachment; filename=\"r.pdf\"; filename*=UTF-8''K%C3%BCche%202026-11-21.pdf" };

async function fetched(answer: () => Response): Promise<{ reply: unknown; url: string; headers: Headers }> {
  let [url, headers] = ["", new Headers()];
  const fetcher: typeof fetch = async (input, init) => {
    [url, headers] = [String(input), new Headers(init?.headers)];
    return answer();
  };
  const reply = await fetchReceipt(addresses.receipt("Europe/Berlin"), "ar-EG", fetcher, realTimers());
  return { reply, url, headers };
}

test("the request has the token in a header, the language and the time zone", async () => {
  const { reply, url, headers } = await fetched(() => new Response("%PDF-1.7", { headers: PDF }));
  expect(reply).toMatchObject({ kind: "file", name: "Küche 2026-11-21.pdf" });
  expect(url).toBe(`https://checklists.example/prefix/v1/executor/runs/${RUN_ID}/receipt?time_zone=Europe%2FBerlin`);
  expect([headers.get("Authorization"), headers.get("Accept-Language")]).toEqual([`Executor ${"t".repeat(43)}`, "ar-EG"]);
});

test.each([
  ["a refusal", () => new Response("{}", { status: 429 }), { kind: "refused", status: 429 }],
  ["the page of a captive portal", () => new Response("<html>", { headers: { "Content-Type": "text/html" } }), { kind: "network" }],
  [
    "no answer",
    () => {
      throw new TypeError("Failed to fetch");
    },
    { kind: "network" },
  ],
])("%s is a result, too", async (_, answer, wanted) => {
  expect((await fetched(answer)).reply).toEqual(wanted);
});
