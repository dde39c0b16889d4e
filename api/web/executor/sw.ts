/**
 * The service worker: serves the app offline. It caches the files of exactly one build; a new build waits until the
 * person agrees or all pages are closed, so that a page never gets files of another build.
 */
import { cacheName, cachePrefix, fits, planFor } from "./sw/plan";

// TypeScript's types of workers and of pages exclude each other; this is the subset used here.
interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface Worker {
  readonly registration: { readonly scope: string };
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
}

const worker = self as unknown as Worker;
const PAGE = "index.html";
const { scope } = worker.registration;
const cached = () => caches.open(cacheName(scope, __BUILD__));
const address = (name: string) => new URL(name, scope).href;

worker.addEventListener("install", (event) => event.waitUntil(keepFiles()));
worker.addEventListener("activate", (event) => event.waitUntil(takeOver()));
worker.addEventListener("message", (event) => {
  if (event.data === "activate") void worker.skipWaiting();
});
worker.addEventListener("fetch", (event) => {
  const plan = planFor(event.request, scope, __FILES__);
  if (plan.kind !== "network") event.respondWith(answer(event.request, plan.kind === "page" ? PAGE : plan.name));
});

async function keepFiles(): Promise<void> {
  const cache = await cached();
  const page = await fetch(address(PAGE), { cache: "reload" });
  if (!page.ok || !fits(await page.clone().text(), __FILES__)) throw new Error("The page is of another build.");
  await cache.put(address(PAGE), page);
  const others = __FILES__.filter((name) => name !== PAGE);
  await cache.addAll(others.map((name) => new Request(address(name), { cache: "reload" })));
}

async function takeOver(): Promise<void> {
  const own = (await caches.keys()).filter((name) => name.startsWith(cachePrefix(scope)));
  await Promise.all(own.filter((name) => name !== cacheName(scope, __BUILD__)).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/** From the cache, or from the network if the browser has evicted the cache. */
async function answer(request: Request, name: string): Promise<Response> {
  const kept = await (await cached()).match(address(name), { ignoreVary: true });
  return kept ?? fetch(request);
}
