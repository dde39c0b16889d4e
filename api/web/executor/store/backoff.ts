/** Exponential backoff with jitter. */

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const LONGEST_ASKED_FOR_MS = 10 * 60_000;

/**
 * Doubles after each failure up to a minute, with jitter between half and all of it, so that many clients that lost the
 * same network do not retry at the same moment.
 */
export function backoffMs(failures: number, chance: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(failures, 1) - 1, 16));
  return Math.round(full * (0.5 + chance / 2));
}

/** The delay of a `Retry-After` header (RFC 9110, section 10.2.3: seconds or a date), or null. */
export function retryAfterMs(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const text = header.trim();
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), LONGEST_ASKED_FOR_MS) : null;
}
