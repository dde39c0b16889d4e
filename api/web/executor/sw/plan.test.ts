import { describe, expect, test } from "vitest";

import { cacheName, cachePrefix, fits, planFor } from "./plan";

const SCOPE = "https://host.example/prefix/r/";
const FILES = ["index.html", "app.webmanifest", "assets/app-1.js"];
const RUN = "r-00000000-0000-4000-8000-000000000001";

const navigate = (path: string) => planFor({ method: "GET", url: `https://host.example${path}`, mode: "navigate" }, SCOPE, FILES);
const load = (path: string, method = "GET") => planFor({ method, url: `https://host.example${path}`, mode: "cors" }, SCOPE, FILES);

describe("the service worker", () => {
  test("handles the page of every run, with any query", () => {
    expect(navigate(`/prefix/r/${RUN}`)).toEqual({ kind: "page" });
    expect(navigate(`/prefix/r/${RUN}?from=mail#token`)).toEqual({ kind: "page" });
    expect(navigate("/prefix/r/")).toEqual({ kind: "page" });
    expect(navigate("/prefix/r/index.html")).toEqual({ kind: "page" });
  });

  test("answers for the files of its build", () => {
    expect(load("/prefix/r/assets/app-1.js")).toEqual({ kind: "file", name: "assets/app-1.js" });
    expect(load("/prefix/r/assets/app-2.js")).toEqual({ kind: "network" });
  });

  test("ignores the API, other folders, other origins and all writes", () => {
    expect(load(`/prefix/v1/executor/runs/${RUN}`)).toEqual({ kind: "network" });
    expect(load("/r/assets/app-1.js")).toEqual({ kind: "network" });
    expect(load("/prefix/r/assets/app-1.js", "POST")).toEqual({ kind: "network" });
    expect(navigate("/prefix/docs")).toEqual({ kind: "network" });
    expect(navigate("/prefix/r/r-1")).toEqual({ kind: "network" });
    const elsewhere = { method: "GET", url: "https://other.example/prefix/r/index.html", mode: "navigate" };
    expect(planFor(elsewhere, SCOPE, FILES)).toEqual({ kind: "network" });
  });

  test("caches no page of another build", () => {
    expect(fits('<script src="./assets/app-1.js"></script>', FILES)).toBe(true);
    expect(fits('<script src="./assets/app-2.js"></script>', FILES)).toBe(false);
    expect(fits("<p>Welcome to the hotel</p>", FILES)).toBe(false);
  });

  test("has a cache per folder and build", () => {
    expect(cacheName(SCOPE, "b1")).not.toBe(cacheName(SCOPE, "b2"));
    expect(cacheName("https://host.example/r/", "b1").startsWith(cachePrefix(SCOPE))).toBe(false);
  });
});
