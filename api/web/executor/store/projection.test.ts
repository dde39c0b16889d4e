import { expect, test } from "vitest";

import { phaseOf, type Situation, syncOf } from "./phase";
import { type LocalPhotos, project, settledOn } from "./projection";
import { NO_RECORDS, type Operation, type Records, type Command } from "./records";
import { step, template } from "./testing/templates";
import { newOpId } from "./op_id";
import { runIdIn, tokenIn } from "./token";

const CHECKLIST = template([step("s-a", { required: true }), step("s-b"), step("s-sign", { type: "signature" })]);
const DESK: LocalPhotos = { picture: (opId) => `blob:${opId}`, upload: () => null, origin: () => null, order: () => [] };

const queue = (...commands: Command[]): Records => ({
  ...NO_RECORDS,
  queue: commands.map((command, place): Operation => ({ ...command, seq: place, opId: `op-${place}`, at: "", attempts: 0 })),
});
const answer = (stepId: string, value: string): Command => ({ kind: "answer", stepId, value, geo: null });

test("unchanged steps are the same objects, so that they are not rendered", () => {
  const first = project(queue(answer("s-a", "1"), answer("s-b", "1")), CHECKLIST, DESK, new Map());
  const second = project(queue(answer("s-a", "2"), answer("s-b", "1")), CHECKLIST, DESK, first.answers);
  expect(second.answers.get("s-b")).toBe(first.answers.get("s-b"));
  expect(second.answers.get("s-a")).toMatchObject({ value: "2" });
});

test("unaffected data are the same objects", () => {
  const first = project(queue(answer("s-a", "1")), CHECKLIST, DESK, new Map());
  const second = settledOn(first, project(queue(answer("s-a", "2")), CHECKLIST, DESK, first.answers));
  expect([second.applicable, second.missing, second.progress]).toEqual([first.applicable, first.missing, first.progress]);
  expect(second.applicable).toBe(first.applicable);
  expect(second.missing).toBe(first.missing);
  expect(second.progress).toBe(first.progress);
  const third = settledOn(second, project(queue(), CHECKLIST, DESK, second.answers));
  expect(third.missing).toEqual(["s-a"]);
});

test("a rejected answer counts as missing", () => {
  const [operation] = queue(answer("s-a", "wrong")).queue;
  if (operation === undefined) throw new Error("no operation");
  const records = { ...NO_RECORDS, refused: [{ operation, problems: [{ path: "value", code: "too_long" }] }] };
  const found = project(records, CHECKLIST, DESK, new Map());
  expect(found.progress.answered).toBe(0);
  expect(found.missing).toEqual(["s-a"]);
});

test("an answer that waits is flagged by the day on which it was given", () => {
  const due = step("s-due", { type: "date", config: { expected: { not_before: 0 }, on_flag: { note: true } } });
  const given = (note?: string): Command => ({ kind: "answer", stepId: "s-due", value: "2026-11-21", geo: null, ...(note === undefined ? {} : { note }) });
  const on = (at: string, note?: string) => {
    const { queue: operations } = queue(given(note));
    return project({ ...NO_RECORDS, queue: operations.map((operation) => ({ ...operation, at })) }, template([due]), DESK, new Map());
  };
  expect(on("2026-11-21T23:30:00.000-08:00").answers.get("s-due")).toMatchObject({ flagged: false, note: null });
  const late = on("2026-11-22T00:30:00.000+01:00");
  expect(late.answers.get("s-due")).toMatchObject({ flagged: true, note: null });
  expect([late.missing, late.progress.answered]).toEqual([["s-due"], 0]);
  const noted = on("2026-11-22T00:30:00.000+01:00", "Sold out.");
  expect([noted.missing, noted.progress.answered, noted.answers.get("s-due")?.note]).toEqual([[], 1, "Sold out."]);
});

test("a signature has one drawing, the newest", () => {
  const drawing: Command = { kind: "photo", stepId: "s-sign", contentType: "image/png" };
  const found = project(queue(drawing, drawing), CHECKLIST, DESK, new Map());
  expect(found.answers.get("s-sign")?.photos).toMatchObject([{ key: "op-1", url: "blob:op-1", state: "kept" }]);
});

test("a drawing on the server is shown next to the name and can be removed", () => {
  const value = { name: "Ada", url: "/photos/1?e=1", signed_at: "2026-11-21T10:00:00Z" };
  const answers = { "s-sign": { value, photos: [], geo: null, at: "", by: null } };
  const run = { answers, skipped_steps: [] } as unknown as NonNullable<Records["run"]>["run"];
  const found = project({ ...NO_RECORDS, run: { epoch: 0, run, clockOffsetMs: 0 } }, CHECKLIST, DESK, new Map());
  expect(found.answers.get("s-sign")?.photos).toMatchObject([{ index: -1, url: value.url, state: "sent" }]);
});

test("a photo has its own picture first, and the server's for a browser that cannot draw what it has sent", () => {
  const photo = { photo_index: 0, url: "/photos/1?e=1", thumbnail_url: "/photos/1/thumbnail?e=1" };
  const answers = { "s-a": { value: null, photos: [photo], geo: null, at: "", by: null } };
  const run = { answers, skipped_steps: [] } as unknown as NonNullable<Records["run"]>["run"];
  const sent = { ...NO_RECORDS, run: { epoch: 0, run, clockOffsetMs: 0 } };
  const served = { url: photo.url, thumbnailUrl: photo.thumbnail_url };
  const photosAt = (records: Records, desk: LocalPhotos) => project(records, CHECKLIST, desk, new Map()).answers.get("s-a")?.photos;
  const kept = queue({ kind: "photo", stepId: "s-a", contentType: "image/heic" });
  expect(photosAt(kept, DESK)).toMatchObject([{ url: "blob:op-0", thumbnailUrl: "blob:op-0", served: null }]);
  expect(photosAt(sent, { ...DESK, origin: () => "op-0" })).toMatchObject([{ url: "blob:op-0", thumbnailUrl: "blob:op-0", served }]);
  expect(photosAt(sent, DESK)).toMatchObject([{ ...served, served }]);
});

const OPEN: Situation = {
  hasToken: true, hasPreview: false, status: "in_progress", identity: { mode: "anonymous" }, reviewing: false, timeIsUp: false, failure: "none", access: "open",
};

test("the phase follows from the state", () => {
  expect(phaseOf(OPEN)).toBe("checklist");
  expect(phaseOf({ ...OPEN, reviewing: true })).toBe("review");
  expect(phaseOf({ ...OPEN, failure: "unreachable" })).toBe("checklist");
  expect(phaseOf({ ...OPEN, timeIsUp: true })).toBe("expired");
  expect(phaseOf({ ...OPEN, status: "completed", timeIsUp: true })).toBe("done");
  expect(phaseOf({ ...OPEN, identity: { mode: "member", user_id: null } })).toBe("loading");
  expect(phaseOf({ ...OPEN, access: "sign_in" })).toBe("checklist");
  expect(phaseOf({ ...OPEN, access: "assigned", status: "completed" })).toBe("assigned");
  expect(phaseOf({ ...OPEN, access: "others" })).toBe("assigned");
  expect(phaseOf({ ...OPEN, access: "not_member" })).toBe("not_member");
  expect(phaseOf({ ...OPEN, identity: { mode: "external", name: null, email: null } })).toBe("identity");
  const nothing = { ...OPEN, status: null, identity: null };
  expect(phaseOf(nothing)).toBe("loading");
  expect(phaseOf({ ...nothing, access: "sign_in" })).toBe("sign_in");
  expect(phaseOf({ ...nothing, failure: "offline" })).toBe("offline_first");
  expect(phaseOf({ ...nothing, failure: "unreachable" })).toBe("unreachable");
  expect(phaseOf({ ...nothing, hasToken: false, hasPreview: true })).toBe("preview");
});

test("needs attention takes precedence over the network state", () => {
  const quiet = { waiting: 0, refusals: 0, reached: true, denied: false, signedOut: false, failures: 0 };
  expect(syncOf(quiet).state).toBe("saved");
  expect(syncOf({ ...quiet, waiting: 2 })).toEqual({ state: "saving", waiting: 2 });
  expect(syncOf({ ...quiet, waiting: 2, reached: false }).state).toBe("offline");
  expect(syncOf({ ...quiet, waiting: 2, reached: false, refusals: 1 }).state).toBe("attention");
  expect(syncOf({ ...quiet, waiting: 2, signedOut: true })).toEqual({ state: "signed_out", waiting: 2 });
  expect(syncOf({ ...quiet, waiting: 2, signedOut: true, reached: false }).state).toBe("offline");
  expect(syncOf({ ...quiet, waiting: 1, failures: 5 }).state).toBe("attention");
});

test("run id and token are parsed from the address only", () => {
  expect(runIdIn("/prefix/r/r-00000000-0000-4000-8000-000000000001")).toBe("r-00000000-0000-4000-8000-000000000001");
  expect(runIdIn("/prefix/r/index.html")).toBeNull();
  expect(tokenIn(`#${"a".repeat(43)}`)).toBe("a".repeat(43));
  expect(tokenIn("#section")).toBeNull();
});

test("operation ids are unique without randomUUID", () => {
  const poor = { getRandomValues: (bytes: Uint8Array) => bytes.fill(255) } as unknown as Crypto;
  expect(newOpId(poor)).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
  expect(newOpId()).not.toBe(newOpId());
});
