import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// Builds one app: the executor app or the dashboard (CHECKLISTS_SURFACE). URLs in the built pages are relative, so that
// they work under any path prefix: /r/{run_id} with /r/assets/*, /dashboard/... with /dashboard/assets/*. `build.mjs`
// uses this for each, then builds the service worker. The development server (`make web-dev`) proxies all API requests
// to the service.
declare const process: { env: Record<string, string | undefined> };

const service = process.env["CHECKLISTS_SERVICE"] ?? "http://127.0.0.1:8080";

const surface = process.env["CHECKLISTS_SURFACE"] ?? "executor";

/** The service writes the dashboard's base URL into its page; in development, this plugin does. */
const BASE_ELEMENT = {
  name: "base-element",
  apply: "serve",
  transformIndexHtml: () => [{ tag: "base", attrs: { href: "/dashboard/" }, injectTo: "head-prepend" }],
} as const satisfies Plugin;

/** Links to the texts of each language. The service leaves the one of the page, which is loaded together with the app then. */
const LANGUAGE_LINKS: Plugin = {
  name: "language-links",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_html, { bundle = {} }) =>
      Object.values(bundle).flatMap((file) => {
        const language = file.type === "chunk" ? /\/kit\/i18n\/([a-z]+)\.ts$/.exec(file.facadeModuleId ?? "")?.[1] : undefined;
        if (language === undefined) return [];
        return [{ tag: "link", attrs: { rel: "modulepreload", "data-language": language, href: `./${file.fileName}` }, injectTo: "head" } as const];
      }),
  },
};

export default defineConfig(({ command }) => ({
  root: surface,
  base: command === "build" ? "./" : surface === "executor" ? "/r/" : "/dashboard/",
  publicDir: "public",
  build: {
    outDir: `../../checklist_api/web_dist/${surface}`,
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    // The page's content security policy does not allow data: URLs.
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
  plugins: surface === "dashboard" ? [BASE_ELEMENT] : [LANGUAGE_LINKS],
  server: { proxy: { "/v1": service, "/pages": service, "/dashboard/api": service } },
  test: {
    root: ".",
    include: ["core", "kit", "executor", "dashboard"].map((folder) => `${folder}/**/*.test.{ts,tsx}`),
    setupFiles: ["kit/english.ts"],
    // A test of components begins with `// @vitest-environment happy-dom`.
    environment: "node",
    // A busy machine takes seconds to load a page.
    testTimeout: 30_000,
    environmentOptions: { happyDOM: { url: "https://checklists.example/dashboard/" } },
    passWithNoTests: true,
  },
}));
