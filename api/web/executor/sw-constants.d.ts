/** What `build.mjs` puts into the service worker, and nowhere else. */

/** Files of the app, by their addresses relative to sw.js: the page without a run first (`index.html`), then the rest. */
declare const __FILES__: readonly string[];

/** A digest over them: another build has another one. */
declare const __BUILD__: string;
