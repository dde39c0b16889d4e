// node build.mjs [FOLDER]: builds the executor app and the dashboard into FOLDER/executor and FOLDER/dashboard
// (default: the folder that the service serves). The executor app takes two builds: the page with its hashed files,
// then the service worker, a single file with a fixed name that lists all files of the page. Each file is stored plain,
// and compressed with gzip and brotli at their highest levels.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const COMPRESSIBLE = /\.(js|css|html|svg|json|webmanifest)$/;
const target = resolve(process.argv[2] ?? "../checklist_api/web_dist");
const folder = join(target, "executor");

function filesIn(where, prefix = "") {
  return readdirSync(where, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(where, entry.name), `${prefix}${entry.name}/`) : [prefix + entry.name]))
    .sort();
}

function digestOf(names) {
  const sum = createHash("sha256");
  for (const name of names) sum.update(`${name}\n`).update(readFileSync(join(folder, name)));
  return sum.digest("hex").slice(0, 16);
}

async function buildPage(surface) {
  process.env.CHECKLISTS_SURFACE = surface;
  await build({ configFile: "vite.config.ts", logLevel: "warn", build: { outDir: join(target, surface) } });
}

async function buildServiceWorker() {
  const names = filesIn(folder);
  const files = ["index.html", ...names.filter((name) => name !== "index.html")];
  await build({
    configFile: false,
    root: "executor",
    publicDir: false,
    logLevel: "warn",
    define: { __FILES__: JSON.stringify(files), __BUILD__: JSON.stringify(digestOf(names)) },
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: "es2022",
      rolldownOptions: {
        input: { sw: "executor/sw.ts" },
        output: { format: "iife", entryFileNames: "sw.js", codeSplitting: false },
      },
    },
  });
}

function compress(folder) {
  // The page is not compressed: the service changes it for each request.
  for (const name of filesIn(folder).filter((name) => COMPRESSIBLE.test(name) && name !== "index.html")) {
    const content = readFileSync(join(folder, name));
    const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
    for (const [suffix, packed] of [[".gz", gzipSync(content, { level: 9 })], [".br", brotliCompressSync(content, brotli)]]) {
      if (packed.length < content.length) writeFileSync(join(folder, name + suffix), packed);
    }
  }
}

await buildPage("executor");
await buildServiceWorker();
await buildPage("dashboard");
compress(join(target, "executor"));
compress(join(target, "dashboard"));
