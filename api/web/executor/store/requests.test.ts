import { expect, test } from "vitest";

import { type Operation, THE_DRAWING, type Command } from "./records";
import { batchOf, RunAddresses } from "./requests";

const API = new URL("https://host.example/prefix/v1/");
const ADDRESSES = new RunAddresses(API, "r-1", "the-token");
const sent = (command: Command) => {
  const operation: Operation = { ...command, seq: 1, opId: "op-1", at: "", attempts: 1 };
  const { method, url, json } = ADDRESSES.operation(operation, new Blob());
  return [method, url.href.replace("https://host.example/prefix/v1/executor/runs/r-1", ""), json];
};

test("every operation has its URL below the service's base path, and its id", () => {
  const geo = { lat: 1, lng: 2, accuracy_m: null };
  expect(sent({ kind: "answer", stepId: "s-1", value: 5, geo })).toEqual(["PUT", "/answers/s-1", { value: 5, geo, op_id: "op-1" }]);
  expect(sent({ kind: "answer", stepId: "s-1", value: 5, geo, note: "Hot" })).toEqual(["PUT", "/answers/s-1", { value: 5, geo, note: "Hot", op_id: "op-1" }]);
  expect(sent({ kind: "clear", stepId: "s-1" })).toEqual(["DELETE", "/answers/s-1?op_id=op-1", undefined]);
  expect(sent({ kind: "skip", stepId: "s-1" })).toEqual(["POST", "/steps/s-1/skip", { op_id: "op-1" }]);
  expect(sent({ kind: "photo", stepId: "s-1", contentType: "image/png" })).toEqual(["POST", "/answers/s-1/photos?op_id=op-1", undefined]);
  expect(sent({ kind: "signature" })).toEqual(["PUT", "/signature?op_id=op-1", undefined]);
  expect(sent({ kind: "signature_removed" })).toEqual(["DELETE", "/signature?op_id=op-1", undefined]);
  expect(sent({ kind: "submit", signature: "Ada" })).toEqual(["POST", "/submit", { signature: { name: "Ada" }, op_id: "op-1" }]);
  expect(sent({ kind: "cancel", reason: null })).toEqual(["POST", "/cancel", { reason: null, op_id: "op-1" }]);
});

test("a batch has each operation as its own request has it, in order", () => {
  const base = { seq: 1, at: "", attempts: 0, member: "u-1", stepId: "s-1" } as const;
  const request = ADDRESSES.batch([
    { ...base, kind: "answer", opId: "1", value: null, geo: null, note: "Hot" },
    { ...base, kind: "clear", opId: "2" },
    { ...base, kind: "skip", opId: "3" },
  ]);
  expect(request).toMatchObject({ method: "POST", token: "the-token", session: false, member: "u-1" });
  expect(request.url.pathname).toBe("/prefix/v1/executor/runs/r-1/operations");
  expect(request.json).toEqual({
    operations: [
      { type: "answer", step_id: "s-1", op_id: "1", value: null, geo: null, note: "Hot" },
      { type: "clear", step_id: "s-1", op_id: "2" },
      { type: "skip", step_id: "s-1", op_id: "3" },
    ],
  });
});

test("a batch is of one member, at most 200 operations, and smaller than the service takes", () => {
  const clears = (count: number, member: string) =>
    Array.from({ length: count }, (_, place) => ({ kind: "clear", stepId: `s-${place}`, opId: member, at: "", attempts: 0, seq: place, member }) as const);
  const size = (...operations: Parameters<typeof batchOf>[0]) => batchOf(operations).length;
  expect([size(...clears(201, "u-1")), size(...clears(3, "u-1"), ...clears(2, "u-2"))]).toEqual([200, 3]);
  const long = clears(10, "u-1").map((clear) => ({ ...clear, kind: "answer", value: "\u{1F600}".repeat(10_000), geo: null }) as const);
  expect(size(...long)).toBe(5);
});

test("a photo is removed by its index, the drawing of a signature without one", () => {
  const removed = (index: number) => sent({ kind: "photo_removed", stepId: "s-1", photoKey: "", index });
  expect(removed(2)).toEqual(["DELETE", "/answers/s-1/photos?photo_index=2&op_id=op-1", undefined]);
  expect(removed(THE_DRAWING)).toEqual(["DELETE", "/answers/s-1/photos?op_id=op-1", undefined]);
});

test("the preview is asked for without the token", () => {
  expect(ADDRESSES.preview().token).toBeNull();
  expect(ADDRESSES.run()).toMatchObject({ token: "the-token", method: "GET" });
});

test("only requests of runs for members send the session, and name the member of each answer", () => {
  const own = new RunAddresses(API, "r-1", "the-token");
  const answer: Operation = { kind: "clear", stepId: "s-1", seq: 1, opId: "op-1", at: "", attempts: 1, member: "u-1" };
  expect([own.run(), own.open(), own.operation(answer, null), own.preview()].map(({ session }) => session)).toEqual([false, false, false, false]);
  own.withSession = true;
  expect([own.run(), own.open(), own.operation(answer, null), own.preview()].map(({ session }) => session)).toEqual([true, true, true, false]);
  expect(own.operation(answer, null).member).toBe("u-1");
  expect(own.session()).toMatchObject({ token: null, session: true });
});

test("the sign-in URL contains the run's id, and never its token", () => {
  expect(ADDRESSES.signIn("run", false).href).toBe("https://host.example/prefix/dashboard/sign-in?return_to=%2Fr%2Fr-1");
  expect(ADDRESSES.signIn("run", true).href).toBe("https://host.example/prefix/dashboard/sign-in?as=other&return_to=%2Fr%2Fr-1");
  expect(ADDRESSES.signIn(null, false).href).toBe("https://host.example/prefix/dashboard/sign-in?next=sign-in%2Fdone");
});
