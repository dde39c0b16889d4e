// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";

import { signedIn } from "../../testing/signed_in";
import { begin, discard, dispatching, proceed, restore, stop, tryNow } from "./dispatching";
import { isTooOld, type Job, keptJob } from "./kept_job";
import { linksAsCsv, messageFor, withoutFormulas } from "./messages";
import { readTable } from "./table";

const ROWS = 12;

/** Makes one run for each key. `answer` may respond in its place, or lose the response of a made run with "lost". */
let runs: Map<string, { reference: string; runId: string }>;
let requests: number;
let answer: (request: number, reference: string) => Response | "lost" | "away" | null;

function jobOf(text: string): Job {
  const table = readTable(text, { hours: null, url: null, events: ["*"], hasSecret: true });
  expect(table.problems).toEqual([]);
  return { id: `job-${Math.random()}`, organizationId: "org-1", templateId: "t-1", templateName: "Opening check", copied: table.copied, delimiter: table.delimiter, rows: table.rows, begunAt: Date.now() };
}

function rooms(): Job {
  return jobOf(`reference;name\n${Array.from({ length: ROWS }, (_, index) => `room ${index};=cmd\n`).join("")}`);
}

function respond(init: RequestInit | undefined): Response {
  requests += 1;
  const reference = (JSON.parse(String(init?.body)) as { executor_ref: string }).executor_ref;
  const key = new Headers(init?.headers).get("Idempotency-Key") ?? "";
  const given = answer(requests, reference);
  if (given === "away") throw new TypeError("network");
  if (given instanceof Response) return given;
  const run = runs.get(key) ?? { reference, runId: `r-${runs.size}` };
  runs.set(key, run);
  if (given === "lost") throw new TypeError("network");
  return Response.json({ run_id: run.runId, link: `https://checklists.example/r/${run.runId}#t`, expires_at: null }, { status: 201 });
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error, message: "No.", details: [] }, { status, headers });
}

function isOver(): boolean {
  return dispatching.value !== null && dispatching.value.phase !== "running";
}

beforeEach(() => {
  runs = new Map();
  requests = 0;
  answer = () => null;
  signedIn("runs/new/many", () => Response.json({}));
  vi.stubGlobal("fetch", async (_: URL, init?: RequestInit) => respond(init));
  return async () => {
    stop();
    await vi.waitFor(() => expect(dispatching.value?.phase).not.toBe("running"));
    discard();
  };
});

test("each row becomes one run, also when responses are lost and the service asks for time", async () => {
  answer = (request) => (request === 3 || request === 6 ? "lost" : request === 8 ? refusal(429, "rate_limited", { "Retry-After": "1" }) : null);
  expect(begin(rooms(), "")).toBe(true);
  await vi.waitFor(() => expect(dispatching.value?.phase).toBe("done"), 20_000);
  expect([...runs.values()].map((run) => run.reference).sort()).toEqual(Array.from({ length: ROWS }, (_, index) => `room ${index}`).sort());
  expect(dispatching.value?.results.size).toBe(ROWS);
});

test("without network it says so, and goes on when asked to try", async () => {
  answer = (request) => (request > 4 ? "away" : null);
  begin(rooms(), "");
  await vi.waitFor(() => expect(dispatching.value?.waiting).toContain("cannot be reached"));
  answer = () => null;
  await vi.waitFor(() => {
    tryNow();
    expect(dispatching.value?.phase).toBe("done");
  }, 20_000);
  expect(runs.size).toBe(ROWS);
});

test("the quota ends it, what is done is kept, and after a reload it continues with the same keys", async () => {
  answer = (request) => (runs.size >= 5 ? refusal(402, "quota_exceeded") : request === 3 ? "lost" : null);
  const job = rooms();
  begin(job, "");
  await vi.waitFor(() => expect(isOver()).toBe(true), 20_000);
  expect([dispatching.value?.phase, dispatching.value?.error?.code, runs.size]).toEqual(["stopped", "quota_exceeded", 5]);
  const kept = keptJob("org-1");
  expect(kept?.job.id).toBe(job.id);
  dispatching.value = null; // as in a new page
  restore("org-1");
  expect(dispatching.value).toMatchObject({ phase: "stopped", error: null });
  answer = () => null;
  proceed("");
  await vi.waitFor(() => expect(dispatching.value?.phase).toBe("done"), 20_000);
  expect(runs.size).toBe(ROWS);
});

test("a refused row does not keep the others back, and is tried again", async () => {
  answer = (_, reference) => (reference === "room 4" ? refusal(422, "validation_failed") : null);
  begin(rooms(), "");
  await vi.waitFor(() => expect(isOver()).toBe(true), 20_000);
  const { phase, results, job } = dispatching.value!;
  expect([phase, runs.size, results.get(6)]).toEqual(["stopped", ROWS - 1, { error: "No." }]);
  const csv = linksAsCsv(job, results).split("\r\n");
  expect(csv[0]).toBe("\ufeffrow;status;reference;name;run_id;link;expires_at;error");
  expect(csv[1]).toMatch(/^2;dispatched;room 0;'=cmd;r-\d+;https:.*;;$/);
  expect(csv[5]).toBe("6;refused;room 4;'=cmd;;;;No.");
  answer = () => null;
  proceed("");
  await vi.waitFor(() => expect(dispatching.value?.phase).toBe("done"), 20_000);
});

test("the secret is not kept in the tab's storage", async () => {
  begin(jobOf("reference,webhook_url\na,https://hooks.example.com/\n"), "a secret of the test");
  await vi.waitFor(() => expect(dispatching.value?.phase).toBe("done"));
  expect(JSON.stringify({ ...sessionStorage })).not.toContain("a secret of the test");
  expect(sessionStorage.length).toBe(2);
  discard();
  expect(sessionStorage.length).toBe(0);
});

test("a job whose keys have expired is too old", () => {
  const job = rooms();
  expect([isTooOld(job, job.begunAt + 22 * 3_600_000), isTooOld(job, job.begunAt + 24 * 3_600_000)]).toEqual([false, true]);
});

test("a message has the words of its row, and formulas become text", () => {
  const job = jobOf("reference,name\nroom 1,Ida\nroom 2,\n");
  const [ida, none] = job.rows;
  const text = "Hello {name}, “{checklist}” for {reference}: {link} {other}";
  expect(messageFor(text, job, ida!, "L")).toBe("Hello Ida, “Opening check” for room 1: L {other}");
  expect(messageFor(text, job, none!, "L")).toBe("Hello, “Opening check” for room 2: L {other}");
  expect(["=1+1", "+49", "-3.5", " @x", "a;=b", "\t=1", "room"].map(withoutFormulas)).toEqual(["'=1+1", "'+49", "-3.5", "' @x", "a;'=b", "'\t'=1", "room"]);
});
