/** Clock and timers, injectable for tests. */

export interface Timers {
  readonly now: () => Date;
  readonly set: (call: () => void, ms: number) => unknown;
  readonly clear: (timer: unknown) => void;
  /** Random number from 0 to 1. */
  readonly chance: () => number;
}

/** The longest delay of setTimeout. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export function realTimers(now: () => Date = () => new Date()): Timers {
  return {
    now,
    set: (call, ms) => setTimeout(call, Math.min(ms, LONGEST_TIMER_MS)),
    clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
    chance: Math.random,
  };
}
