/** Constants that `build.mjs` defines in the service worker. */

/** Files of the app, relative to sw.js: first the page without a run (`index.html`), then the rest. */
declare const __FILES__: readonly string[];

/** A digest of the files: it identifies the build. */
declare const __BUILD__: string;
