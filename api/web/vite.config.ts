import { defineConfig } from "vitest/config";

// The executor app. Addresses in the built page are relative, so that it works under any path prefix: the page is
// /r/{run_id}, its files are /r/assets/*. `build.mjs` uses this, then builds the service worker by itself.
// The development server (`make web-dev`) stands where the service stands, and asks the service for everything else.
declare const process: { env: Record<string, string | undefined> };

const service = process.env["CHECKLISTS_SERVICE"] ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  root: "executor",
  base: command === "build" ? "./" : "/r/",
  publicDir: "public",
  build: {
    outDir: "../../checklist_api/web_dist/executor",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    // A data: address would be one more thing that the page's policy has to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { app: "executor/index.html" },
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  server: { proxy: { "/v1": service, "/pages": service } },
  test: {
    root: ".",
    include: ["core/**/*.test.ts", "kit/**/*.test.ts", "executor/**/*.test.ts"],
    environment: "node",
    passWithNoTests: true,
  },
}));
