import { describe, expect, test } from "vitest";

import type { JsonValue } from "../../core/types";
import { backoffMs, retryAfterMs } from "./backoff";
import { type Reply, verdictOf } from "./verdict";

const NOW = new Date("2026-11-21T10:00:00Z");
const http = (status: number, body: { [name: string]: JsonValue } | null, retryAfter: string | null = null): Reply => ({
  kind: "http", status, body, retryAfter, date: null,
});
const error = (code: string, more = {}) => ({ error: code, message: "No.", ...more });
const judge = (reply: Reply) => verdictOf(reply, "r-1", NOW);

describe("an operation", () => {
  test("is confirmed only by a reply about its own run", () => {
    expect(judge(http(200, { run_id: "r-1" })).kind).toBe("confirmed");
    expect(judge(http(200, { run_id: "r-2" }))).toMatchObject({ kind: "again", cause: "network" });
    expect(judge(http(200, null))).toMatchObject({ kind: "again", cause: "network" });
  });

  test("is refused only in the service's own words", () => {
    const details = [{ path: "value", code: "out_of_range", message: "No." }];
    expect(judge(http(422, error("answer_invalid", { details })))).toEqual({ kind: "refused", problems: details });
    expect(judge(http(404, error("not_found")))).toMatchObject({ kind: "refused", problems: [{ code: "not_found" }] });
    expect(judge(http(403, null))).toMatchObject({ kind: "again", cause: "proxy" });
    expect(judge(http(404, { detail: "nginx" }))).toMatchObject({ kind: "again", cause: "proxy" });
    expect(judge(http(501, error("not_implemented"))).kind).toBe("refused");
  });

  test("that is too large for a proxy is rejected for good", () => {
    expect(judge(http(413, null))).toMatchObject({ kind: "refused", problems: [{ code: "too_large" }] });
  });

  test("is sent again after overload, failure and silence", () => {
    expect(judge({ kind: "network" })).toEqual({ kind: "again", cause: "network", afterMs: null });
    for (const status of [408, 425, 429, 500, 502, 503, 504]) expect(judge(http(status, null))).toMatchObject({ kind: "again", cause: "service" });
    expect(judge(http(503, error("service_unavailable"), "7"))).toMatchObject({ cause: "service", afterMs: 7000 });
  });

  test("meets a closed, an expired and a deleted run, a wrong token and a missing identity", () => {
    expect(judge(http(409, error("run_closed")))).toEqual({ kind: "closed", why: "closed" });
    expect(judge(http(410, error("run_expired")))).toEqual({ kind: "closed", why: "expired" });
    expect(judge(http(404, error("run_not_found")))).toEqual({ kind: "closed", why: "gone" });
    expect(judge(http(401, error("unauthorized")))).toEqual({ kind: "denied" });
    const details = [{ path: "identity", code: "identity_required", message: "Who?" }];
    expect(judge(http(422, error("validation_failed", { details })))).toEqual({ kind: "identity_missing" });
  });
});

describe("waiting", () => {
  test("grows to a minute, and is never the same for all", () => {
    expect([1, 2, 3, 4, 10, 1000].map((failures) => backoffMs(failures, 1))).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000]);
    expect(backoffMs(3, 0)).toBe(2000);
  });

  test("follows Retry-After in seconds and as a date, and is not held for ever", () => {
    expect(retryAfterMs("5", NOW)).toBe(5000);
    expect(retryAfterMs("Sat, 21 Nov 2026 10:00:09 GMT", NOW)).toBe(9000);
    expect(retryAfterMs("Sat, 21 Nov 2026 09:00:00 GMT", NOW)).toBe(0);
    expect(retryAfterMs("99999999", NOW)).toBe(600_000);
    expect(retryAfterMs("soon", NOW)).toBeNull();
    expect(retryAfterMs(null, NOW)).toBeNull();
  });
});
