import { defineConfig } from "vitest/config";

// The executor app. Addresses are relative, so that it works under any path prefix: the page is /r/{run_id}, its files
// are /r/assets/*. The service worker keeps its name, because browsers find a new one by the old one's address.
export default defineConfig({
  root: "executor",
  base: "./",
  publicDir: "public",
  build: {
    outDir: "../../checklist_api/web_dist/executor",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    rolldownOptions: {
      input: { app: "executor/index.html", sw: "executor/sw.ts" },
      output: {
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  test: { root: ".", include: ["core/**/*.test.ts", "kit/**/*.test.ts", "executor/**/*.test.ts"], environment: "node" },
});
