/** The service worker as the page sees it: registered once, watched for a new version, put in place on request. */

export interface Updates {
  /** Lets the waiting version take over, and loads the page anew. Nothing kept is lost by that. */
  apply(): void;
}

/** https://w3c.github.io/trusted-types/ : not in TypeScript's library, and not in every browser. */
declare global {
  interface Window {
    trustedTypes?: {
      createPolicy(name: string, rules: { createScriptURL(text: string): string }): { createScriptURL(text: string): unknown };
    };
  }
}

/**
 * Beside the page: ".../r/sw.js" has the scope ".../r/", under whatever prefix. It is the one address that this page ever
 * makes a script of, and its policy lets no other be made (`trusted-types` in `executor_app.py`).
 */
function workerAddress(): string {
  const policy = window.trustedTypes?.createPolicy("service-worker", { createScriptURL: () => "sw.js" });
  return (policy?.createScriptURL("sw.js") ?? "sw.js") as string;
}

export function watchUpdates(ended: AbortSignal, onReady: () => void): Updates {
  // Only in the built app: the development server changes files under the worker's feet.
  if (!import.meta.env.PROD || typeof navigator !== "object" || !("serviceWorker" in navigator)) return { apply: () => undefined };
  const container = navigator.serviceWorker;
  let registration: ServiceWorkerRegistration | null = null;

  // The first version ever installed is no update.
  const tellOf = (worker: ServiceWorker | null) => {
    if (worker?.state === "installed" && container.controller !== null && !ended.aborted) onReady();
  };
  const watch = (found: ServiceWorkerRegistration) => {
    registration = found;
    tellOf(found.waiting);
    found.addEventListener(
      "updatefound",
      () => {
        const worker = found.installing;
        worker?.addEventListener("statechange", () => tellOf(worker), { signal: ended });
      },
      { signal: ended },
    );
  };
  container.register(workerAddress()).then(watch, () => undefined);
  const look = () => {
    if (document.visibilityState === "visible") void registration?.update().catch(() => undefined);
  };
  document.addEventListener("visibilitychange", look, { signal: ended });

  return {
    apply: () => {
      const waiting = registration?.waiting;
      if (waiting == null) return location.reload();
      container.addEventListener("controllerchange", () => location.reload(), { once: true });
      waiting.postMessage("activate");
    },
  };
}
