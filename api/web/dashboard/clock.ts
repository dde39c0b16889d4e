/** The current time by the service's clock, for "3 minutes ago": refreshed while the page is visible. */
import { signal } from "@preact/signals";

const REFRESH_MS = 10_000;
/** Smaller differences are network latency; a computer's clock may be wrong by hours. */
const WORTH_CORRECTING_MS = 5_000;
let ahead = 0;

/** Milliseconds since 1970. A component that reads it is rendered again as time passes. */
export const now = signal(Date.now());

export function serverNow(): number {
  return Date.now() + ahead;
}

/** From the `Date` header of a response. */
export function noteServerTime(date: string | null): void {
  const serverTime = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(serverTime)) return;
  const difference = serverTime - Date.now();
  ahead = Math.abs(difference) < WORTH_CORRECTING_MS ? 0 : difference;
}

function tick(): void {
  if (document.visibilityState === "visible") now.value = serverNow();
}

setInterval(tick, REFRESH_MS);
document.addEventListener("visibilitychange", tick);
