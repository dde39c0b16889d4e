import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { databaseName, RunDatabase } from "./database";
import { Links } from "./links";
import { NO_RECORDS, type Command } from "./records";
import { enqueued } from "./transitions";

const LINKS = new Links(null);
const STAMP = { opId: "op-1", at: "2026-11-21T10:00:00Z" };
const PHOTO: Command = { kind: "photo", stepId: "s-1", contentType: "image/jpeg" };

let factory: IDBFactory;
let database: RunDatabase;

beforeEach(() => {
  factory = new IDBFactory();
  database = new RunDatabase(databaseName("r-1"), () => factory);
});
afterEach(() => {
  database.close();
  vi.restoreAllMocks();
});

const keepPhoto = (content = "photo") =>
  database.change({ decide: (before) => enqueued(before, PHOTO, STAMP, LINKS), blob: { id: STAMP.opId, content: new Blob([content]) }, durable: true });

describe("stored records", () => {
  test("are loaded by the next visit, and by no other run", async () => {
    await keepPhoto();
    await database.remember({ token: "t" });
    const [again, other] = [new RunDatabase(databaseName("r-1"), () => factory), new RunDatabase(databaseName("r-2"), () => factory)];
    expect((await again.load()).records.queue).toMatchObject([{ kind: "photo", opId: "op-1" }]);
    expect((await again.load()).token).toBe("t");
    expect(await (await again.blob("op-1"))?.text()).toBe("photo");
    expect((await other.load()).records).toEqual(NO_RECORDS);
    again.close();
    other.close();
  });

  test("contain all of a change or nothing: no operation without its photo", async () => {
    const put = vi.spyOn(IDBObjectStore.prototype, "put");
    put.mockImplementationOnce(function (this: IDBObjectStore, value: unknown, key?: IDBValidKey) {
      put.mockImplementationOnce(() => {
        throw new DOMException("full", "QuotaExceededError");
      });
      return this.add(value, key);
    });
    await expect(keepPhoto()).rejects.toMatchObject({ name: "StorageFull" });
    expect((await database.load()).records).toEqual(NO_RECORDS);
    expect(await database.blob("op-1")).toBeNull();
  });

  test("do not contain photos without an operation", async () => {
    await keepPhoto();
    await database.change({ decide: () => NO_RECORDS });
    expect(await database.blob("op-1")).toBeNull();
  });

  test("are not changed by a decision that throws", async () => {
    await keepPhoto();
    const failing = () => {
      throw new Error("no");
    };
    await expect(database.change({ decide: failing })).rejects.toThrow("no");
    expect((await database.load()).records.queue).toHaveLength(1);
  });

  test("are available after the browser has closed the connection", async () => {
    await keepPhoto();
    const open = vi.spyOn(factory, "open");
    vi.spyOn(IDBDatabase.prototype, "transaction").mockImplementationOnce(() => {
      throw new DOMException("closing", "InvalidStateError");
    });
    expect((await database.load()).records.queue).toHaveLength(1);
    expect(open).toHaveBeenCalledOnce();
  });

  test("survive a crash of the phone: durable writes are strict", async () => {
    await database.load();
    const begin = vi.spyOn(IDBDatabase.prototype, "transaction");
    await keepPhoto();
    expect(begin.mock.calls.map((call) => (call as unknown[])[2])).toEqual([{ durability: "strict" }]);
  });
});
