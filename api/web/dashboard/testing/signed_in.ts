/** A signed-in member and a fake service, for tests of pages with `// @vitest-environment happy-dom`. */
import { onTestFinished, vi } from "vitest";

import { navigate } from "../router";
import { type Session, take } from "../session";

export type Respond = (method: string, path: string) => Response | Promise<Response>;

const SESSION: Session = {
  name: "Ida Lindqvist",
  email: "ida@example.com",
  method: "password",
  expires_at: "2099-01-01T00:00:00Z",
  csrf_token: "c",
  organizations: [{ id: "org-1", name: "Bright Kitchens", role: "admin", member_id: "u-1" }],
};

/** A stream that is never connected. */
class NoEvents extends EventTarget {
  close(): void {}
}

/** Shows `path` of the organization; `respond` gets paths below `api/org-1/`. */
export function signedIn(path: string, respond: Respond): void {
  Object.defineProperty(navigator, "locks", { configurable: true, value: { request: () => Promise.resolve() } });
  vi.stubGlobal("EventSource", NoEvents);
  vi.stubGlobal("fetch", async (input: URL, init?: RequestInit) => {
    const { pathname } = new URL(String(input));
    return respond(init?.method ?? "GET", pathname.replace(/^.*\/api\/org-1\//, ""));
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  take(SESSION);
  navigate(`org-1/${path}`);
}

export function listOf(data: readonly unknown[]): Response {
  return Response.json({ data, pagination: { page: 1, per_page: 100, total: data.length, pages: 1, next_page: null } });
}
