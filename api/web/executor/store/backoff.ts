/** How long to wait before the next try. */

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
const LONGEST_ASKED_FOR_MS = 10 * 60_000;

/**
 * Twice as long after each failure, at most a minute, and between half and all of that by chance, so that a hundred
 * phones that lost the same network do not come back at the same moment.
 */
export function backoffMs(failures: number, chance: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(failures, 1) - 1, 16));
  return Math.round(full * (0.5 + chance / 2));
}

/** The wait that a `Retry-After` asks for (RFC 9110, section 10.2.3: seconds or a date), or null. */
export function retryAfterMs(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const text = header.trim();
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now.getTime();
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), LONGEST_ASKED_FOR_MS) : null;
}
