/** Updates of the service worker: registration, detection of a new version, activation on request. */

export interface Updates {
  /** Activates the waiting version and reloads the page. Stored data is kept. */
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
 * The script URL relative to the page: ".../r/sw.js" has the scope ".../r/" under any prefix. It is the only script URL
 * of this page, and its content security policy allows no other (`trusted-types` in `executor_app.py`).
 */
function workerAddress(): string {
  const policy = window.trustedTypes?.createPolicy("service-worker", { createScriptURL: () => "sw.js" });
  return (policy?.createScriptURL("sw.js") ?? "sw.js") as string;
}

export function watchUpdates(ended: AbortSignal, onReady: () => void): Updates {
  // Only in the built app: the development server changes files without a new service worker.
  if (!import.meta.env.PROD || typeof navigator !== "object" || !("serviceWorker" in navigator)) return { apply: () => undefined };
  const container = navigator.serviceWorker;
  let registration: ServiceWorkerRegistration | null = null;

  // The first installed version is not an update.
  const notify = (worker: ServiceWorker | null) => {
    if (worker?.state === "installed" && container.controller !== null && !ended.aborted) onReady();
  };
  const watch = (found: ServiceWorkerRegistration) => {
    registration = found;
    notify(found.waiting);
    found.addEventListener(
      "updatefound",
      () => {
        const worker = found.installing;
        worker?.addEventListener("statechange", () => notify(worker), { signal: ended });
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
