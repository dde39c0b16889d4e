import { describe, expect, test } from "vitest";

import type { Change } from "../../core/types";
import { Links, nextToSend } from "./links";
import { NO_RECORDS, type Operation, type Records, type Command } from "./records";
import { refreshed, withoutTemplate } from "./server_state";
import { step, template, when } from "./testing/templates";
import { attempted, afterClose, confirmed, ending, enqueued, refused, withdrawn } from "./transitions";

const CHECKLIST = template([step("s-a"), step("s-gate", { type: "boolean" }), step("s-behind", { condition: when("s-gate", true) }), step("s-photo")]);
const LINKS = new Links(CHECKLIST);
const NOW = new Date("2026-11-21T10:00:00Z");
let count = 0;

const answer = (stepId: string, value: string | boolean = "x"): Command => ({ kind: "answer", stepId, value, geo: null });
const photo = (stepId = "s-photo"): Command => ({ kind: "photo", stepId, contentType: "image/jpeg" });
const submit: Command = { kind: "submit", signature: null };
const after = (before: Records, ...commands: Command[]) =>
  commands.reduce((records, command) => enqueued(records, command, { opId: `op-${(count += 1)}`, at: NOW.toISOString() }, LINKS), before);
const sent = (before: Records, place: number) => attempted(before, before.queue[place]?.opId ?? "");
const outline = (records: Records) => records.queue.map((op) => ("stepId" in op ? `${op.kind} ${op.stepId}` : op.kind));
const at = (records: Records, place: number): Operation => {
  const found = records.queue[place];
  if (found === undefined) throw new Error(`nothing at ${place}`);
  return found;
};

const RUN = withoutTemplate({
  run_id: "r-1", status: "in_progress", template_id: "t-1", template_v: 1, template: CHECKLIST, created_by_name: "Ada",
  created_at: "", started_at: null, completed_at: null, cancelled_at: null, cancel_reason: null, expires_at: null,
  assigned_to: null, executor_identity: { mode: "anonymous" }, answers: {}, signature: null,
  progress: { total: 0, answered: 0, skipped: 0 }, applicable_steps: [], skipped_steps: [], missing_steps: [],
});
const CHANGE: Change = { run_id: "r-1", status: "in_progress", progress: RUN.progress, applicable_steps: [], skipped_steps: [], replayed: false };
const WITH_RUN: Records = { ...NO_RECORDS, run: { epoch: 0, run: RUN, clockOffsetMs: 0 } };
const picture = (index: number, url = "u") => ({ photo_index: index, url, content_type: "image/jpeg", bytes: 1, sha256: "", width: 1, height: 1, captured_at: null, captured_at_zone: null });

describe("a command that joins the queue", () => {
  test("takes the place of an older answer of its step", () => {
    const records = after(NO_RECORDS, answer("s-a", "1"), answer("s-gate", true), answer("s-a", "2"));
    expect(outline(records)).toEqual(["answer s-a", "answer s-gate"]);
    expect(at(records, 0)).toMatchObject({ value: "2", seq: 1, attempts: 0 });
  });

  test("goes to the end when the older one may have been sent", () => {
    const records = after(sent(after(NO_RECORDS, answer("s-a", "1")), 0), answer("s-a", "2"));
    expect(outline(records)).toEqual(["answer s-a", "answer s-a"]);
  });

  test("goes to the end when a step between the two depends on it", () => {
    const records = after(NO_RECORDS, answer("s-gate", true), answer("s-behind"), answer("s-gate", false));
    expect(outline(records)).toEqual(["answer s-gate", "answer s-behind", "answer s-gate"]);
  });

  test("does not bring photos back that clearing took away", () => {
    const records = after(sent(after(NO_RECORDS, photo()), 0), { kind: "clear", stepId: "s-photo" }, answer("s-photo"));
    expect(outline(records)).toEqual(["photo s-photo", "clear s-photo", "answer s-photo"]);
  });

  test("drops unsent photos that it removes", () => {
    expect(outline(after(NO_RECORDS, photo(), photo(), { kind: "skip", stepId: "s-photo" }))).toEqual(["skip s-photo"]);
  });

  test("withdraws an unsent submit, and no other", () => {
    const queued = after(NO_RECORDS, submit);
    expect(outline(after(queued, answer("s-a")))).toEqual(["answer s-a"]);
    expect(outline(after(sent(queued, 0), answer("s-a")))).toEqual(["submit", "answer s-a"]);
    expect(withdrawn(sent(queued, 0)).queue).toHaveLength(1);
  });

  test("is one submit however often it is tapped", () => {
    expect(outline(after(NO_RECORDS, submit, submit))).toEqual(["submit"]);
    const asked = sent(after(NO_RECORDS, submit), 0);
    expect(after(asked, submit)).toBe(asked);
  });
});

describe("what is sent next", () => {
  const next = (records: Records, wanted: (operation: Operation) => boolean = () => true, identityMissing = false) =>
    nextToSend(records.queue, LINKS, identityMissing, wanted);
  const notAPhoto = (operation: Operation) => operation.kind !== "photo";

  test("may overtake a photo of a step that it has nothing to do with", () => {
    expect(next(after(NO_RECORDS, photo(), answer("s-a")), notAPhoto)).toMatchObject({ stepId: "s-a" });
  });

  test("never overtakes its own step, nor one whose condition it decides or that decides its own", () => {
    expect(next(after(NO_RECORDS, photo(), answer("s-photo")), notAPhoto)).toBeNull();
    expect(next(after(NO_RECORDS, photo("s-behind"), answer("s-gate", false)), notAPhoto)).toBeNull();
    expect(next(after(NO_RECORDS, photo("s-gate"), answer("s-behind")), notAPhoto)).toBeNull();
  });

  test("is a submit only when nothing is left before it", () => {
    expect(next(after(NO_RECORDS, photo(), submit), notAPhoto)).toBeNull();
    expect(next(after(NO_RECORDS, submit))).toMatchObject({ kind: "submit" });
  });

  test("is the identity before all else, and nothing else while it is missing", () => {
    const identity: Command = { kind: "identity", name: "Ada", email: "a@b.example" };
    expect(next(after(NO_RECORDS, answer("s-a"), identity))).toMatchObject({ kind: "identity" });
    expect(next(after(NO_RECORDS, answer("s-a")), () => true, true)).toBeNull();
  });
});

describe("results of the server", () => {
  test("set the index of a pending removal", () => {
    const uploading = sent(after(WITH_RUN, photo()), 0);
    const removal: Command = { kind: "photo_removed", stepId: "s-photo", photoKey: at(uploading, 0).opId, index: null };
    const records = after(uploading, removal);
    expect(nextToSend(records.queue.slice(1), LINKS, false, () => true)).toBeNull();
    const done = confirmed(records, at(records, 0), { ...CHANGE, photo: picture(4) });
    expect(done.queue).toMatchObject([{ kind: "photo_removed", index: 4 }]);
  });

  test("rejecting a photo also ends its removal", () => {
    const uploading = sent(after(WITH_RUN, photo()), 0);
    const records = after(uploading, { kind: "photo_removed", stepId: "s-photo", photoKey: at(uploading, 0).opId, index: null });
    expect(refused(records, at(records, 0), [])).toMatchObject({ queue: [], refused: [], notices: [] });
  });

  test("rejecting an answer that was replaced has no effect", () => {
    const records = after(sent(after(WITH_RUN, answer("s-a", "1")), 0), answer("s-a", "2"));
    expect(refused(records, at(records, 0), []).refused).toEqual([]);
  });

  test("rejecting the drawing of a signature withdraws the submit, and the next submit resolves it", () => {
    const stamps = () => [{ opId: `op-${(count += 1)}`, at: "" }, { opId: `op-${(count += 1)}`, at: "" }] as const;
    const signed = ending(WITH_RUN, { kind: "submit", signature: "Ada" }, ...stamps());
    expect(outline(signed)).toEqual(["signature", "submit"]);
    const rejected = refused(signed, at(signed, 0), [{ path: "photo", code: "not_an_image" }]);
    expect(rejected).toMatchObject({ queue: [], refused: [{ operation: { kind: "signature" } }] });
    const again = ending(rejected, { kind: "submit", signature: "Ada" }, ...stamps());
    expect(again.refused).toEqual([]);
    expect(outline(again)).toEqual(["signature", "submit"]);
  });

  test("keep a drawing that may have been sent when its submit is withdrawn; a submit without one removes it", () => {
    const stamp = () => ({ opId: `op-${(count += 1)}`, at: "" });
    const signed = sent(ending(WITH_RUN, { kind: "submit", signature: "Ada" }, stamp(), stamp()), 0);
    expect(outline(withdrawn(signed))).toEqual(["signature"]);
    const byName = (before: Records) => ending(before, { kind: "submit", signature: "Ada" }, stamp(), null, stamp());
    expect(outline(byName(signed))).toEqual(["signature", "signature_removed", "submit"]);
    expect(outline(withdrawn(byName(signed)))).toEqual(["signature"]);
    expect(outline(byName(WITH_RUN))).toEqual(["submit"]);
  });

  test("closing the run discards unsent operations, and sends attempted ones again", () => {
    const records = after(sent(after(WITH_RUN, answer("s-a")), 0), answer("s-gate", true));
    expect(outline(afterClose(records, null))).toEqual(["answer s-a"]);
    expect(afterClose(records, at(records, 0)).lost).toMatchObject([{ stepId: "s-a" }, { stepId: "s-gate" }]);
  });
});

describe("a state read from the server", () => {
  const read = (records: Records, answers: typeof RUN.answers, epoch = 0) => refreshed(records, { ...RUN, answers }, epoch, 0, NOW);
  const given = (value: string, at: string, photos: ReturnType<typeof picture>[] = []) => ({ value, photos, geo: null, at, by: null });

  test("never undoes a write that was confirmed while it was on its way", () => {
    const records = after(WITH_RUN, answer("s-a"));
    const done = confirmed(records, at(records, 0), { ...CHANGE, answer: given("x", "1") });
    expect(read(done, {})).toBe(done);
  });

  test("reports steps that another device changed, but not own writes without a response", () => {
    const own = sent(after(WITH_RUN, answer("s-a", "mine")), 0);
    expect(read(own, { "s-a": given("mine", "1") }).notices).toEqual([]);
    expect(read(own, { "s-a": given("theirs", "1") }).notices).toMatchObject([{ kind: "other_device", stepIds: ["s-a"] }]);
  });

  test("keeps signed URLs while they are valid, so that no picture is loaded twice", () => {
    const url = (seconds: number) => `/photo?e=${NOW.getTime() / 1000 + seconds}&s=1`;
    const known = read(WITH_RUN, { "s-photo": given("", "1", [picture(0, url(3600))]) });
    expect(read(known, { "s-photo": given("", "1", [picture(0, url(3630))]) }, 1)).toBe(known);
    const old = { ...known, notices: [], run: { epoch: 1, run: { ...RUN, answers: { "s-photo": given("", "1", [picture(0, url(60))]) } }, clockOffsetMs: 0 } };
    const renewed = read(old, { "s-photo": given("", "1", [picture(0, url(3630))]) }, 1);
    expect(renewed.run?.run.answers["s-photo"]?.photos[0]?.url).toBe(url(3630));
    expect(renewed.notices).toEqual([]);
  });
});
