import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// One surface: the executor app, or the dashboard (CHECKLISTS_SURFACE). Addresses in the built pages are relative, so that
// they work under any path prefix: /r/{run_id} with /r/assets/*, /dashboard/... with /dashboard/assets/*. `build.mjs` uses
// this for each, then builds the service worker by itself.
// The development server (`make web-dev`) stands where the service stands, and asks the service for everything else.
declare const process: { env: Record<string, string | undefined> };

const service = process.env["CHECKLISTS_SERVICE"] ?? "http://127.0.0.1:8080";

const surface = process.env["CHECKLISTS_SURFACE"] ?? "executor";

/** The service writes the address of the dashboard into its page; in development, this does. */
const BASE_ELEMENT = {
  name: "base-element",
  apply: "serve",
  transformIndexHtml: () => [{ tag: "base", attrs: { href: "/dashboard/" }, injectTo: "head-prepend" }],
} as const satisfies Plugin;

export default defineConfig(({ command }) => ({
  root: surface,
  base: command === "build" ? "./" : surface === "executor" ? "/r/" : "/dashboard/",
  publicDir: "public",
  build: {
    outDir: `../../checklist_api/web_dist/${surface}`,
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    // A data: address would be one more thing that the page's policy has to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { app: `${surface}/index.html` },
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  plugins: surface === "dashboard" ? [BASE_ELEMENT] : [],
  server: { proxy: { "/v1": service, "/pages": service, "/dashboard/api": service } },
  test: {
    root: ".",
    include: ["core/**/*.test.ts", "kit/**/*.test.ts", "executor/**/*.test.ts", "dashboard/**/*.test.ts"],
    environment: "node",
    passWithNoTests: true,
  },
}));
