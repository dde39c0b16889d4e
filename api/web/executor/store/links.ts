/**
 * Which operations may be reordered, and which may be sent next.
 *
 * The server accepts an answer only for a step that applies at that moment. Two operations on different steps commute
 * exactly if neither step's condition depends, directly or transitively, on the other step. So small answers can
 * overtake the upload of a large photo without being rejected.
 */
import type { Template, When } from "../../core/types";
import { isOnDrawing, type Operation, stepOf, type Command } from "./records";

export class Links {
  private readonly direct = new Map<string, readonly string[]>();
  private readonly reachable = new Map<string, ReadonlySet<string>>();

  constructor(template: Pick<Template, "sections"> | null) {
    for (const section of template?.sections ?? []) {
      for (const step of section.steps) {
        if (step.condition) this.direct.set(step.id, [...sourcesOf(step.condition.when)]);
      }
    }
  }

  /** Whether one of the two steps depends on the other, directly or transitively. */
  linked(one: string, other: string): boolean {
    return one === other || this.sources(one).has(other) || this.sources(other).has(one);
  }

  /** Whether the order of the two operations matters. */
  related(one: Command, other: Command): boolean {
    const [left, right] = [stepOf(one), stepOf(other)];
    if (left !== null && right !== null) return this.linked(left, right);
    // A drawing is related to the submit and other drawings only; all other operations without a step are related to everything.
    const drawing = [one, other].find(isOnDrawing);
    if (drawing === undefined) return true;
    return (drawing === one ? right : left) === null;
  }

  private sources(stepId: string): ReadonlySet<string> {
    const known = this.reachable.get(stepId);
    if (known !== undefined) return known;
    const found = new Set<string>();
    const open = [...(this.direct.get(stepId) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...(this.direct.get(next) ?? []));
    }
    this.reachable.set(stepId, found);
    return found;
  }
}

export type Lane = "changes" | "uploads";

/** Blobs have their own lane, so that a slow upload does not block other operations. */
export function laneOf(operation: Command): Lane {
  return operation.kind === "photo" || operation.kind === "signature" ? "uploads" : "changes";
}

/**
 * The first operation that `wanted` selects and that no earlier one must precede. Identity goes first; while the server
 * requires an identity and there is none, only a cancellation would be accepted.
 */
export function nextToSend(
  queue: readonly Operation[],
  links: Links,
  identityMissing: boolean,
  wanted: (operation: Operation) => boolean,
): Operation | null {
  const identity = queue.find((operation) => operation.kind === "identity");
  if (identity !== undefined) return wanted(identity) ? identity : null;
  const open = identityMissing ? queue.filter((operation) => operation.kind === "cancel") : queue;
  const next = open.find((operation, place) => {
    // The index of a photo is known once it is uploaded.
    const ready = operation.kind !== "photo_removed" || operation.index !== null;
    return ready && wanted(operation) && !open.slice(0, place).some((earlier) => links.related(earlier, operation));
  });
  return next ?? null;
}

/** The sequence of operations that would be sent one by one, starting with the first that `wanted` selects. */
export function* allToSend(
  queue: readonly Operation[],
  links: Links,
  identityMissing: boolean,
  wanted: (operation: Operation) => boolean,
): Generator<Operation> {
  let left = queue;
  for (let next = nextToSend(left, links, identityMissing, wanted); next !== null; next = nextToSend(left, links, identityMissing, wanted)) {
    yield next;
    left = left.filter((operation) => operation !== next);
  }
}

function* sourcesOf(when: When): Generator<string> {
  if ("step" in when && when.step) yield when.step;
  for (const parts of ["all" in when ? when.all : null, "any" in when ? when.any : null]) {
    for (const part of parts ?? []) yield* sourcesOf(part);
  }
}
