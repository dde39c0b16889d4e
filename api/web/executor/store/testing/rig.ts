/** A device, a fake service and virtual time, for the tests of the store. */
import { IDBFactory } from "fake-indexeddb";

import type { ExecutorIdentity, Template } from "../../../core/types";
import { createStore, type StoreOptions } from "../store";
import type { RunStore } from "../types";
import { API, type Outcome, FakeService, RUN_ID, TOKEN } from "./fake_service";
import { step, template, when } from "./templates";
import { settle, VirtualTime } from "./virtual_time";

export const PLAIN = template([step("s-a"), step("s-b"), step("s-photo", { type: "photo", config: { min: 1, max: 3 } })]);
export const FOLLOW_UP = template([
  step("s-ok", { type: "boolean", config: {} }),
  step("s-why", { condition: when("s-ok", false) }),
  step("s-note"),
]);

export class Rig {
  readonly time = new VirtualTime();
  service = this.newService(PLAIN);
  private readonly device = new IDBFactory();
  private readonly open: RunStore[] = [];

  serve(checklist: Template, identity?: ExecutorIdentity): void {
    this.service = this.newService(checklist, identity);
  }

  private newService(checklist: Template, identity?: ExecutorIdentity): FakeService {
    const service = new FakeService(checklist, () => new Date(this.time.ms), identity);
    service.after = (ms, call) => void this.time.device().set(call, ms);
    return service;
  }

  /** Opens the link; `token` null: without the fragment, as from the history; `blocked`: without site data. */
  async visit({ token = TOKEN as string | null, skewMs = 0, blocked = false, tabs = ALONE } = {}): Promise<RunStore> {
    const [timers, db] = [this.time.device(skewMs), blocked ? BLOCKED : this.device];
    const store = createStore({ runId: RUN_ID, token, api: API, fetch: this.service.fetch, timers, db, ...tabs });
    this.open.push(store);
    await settle();
    return store;
  }

  close(): void {
    for (const store of this.open) store.close();
  }
}

const ALONE: Pick<StoreOptions, "locks" | "channel"> = { locks: null, channel: null };

/** A browser with site data blocked. */
const BLOCKED = {
  open: () => {
    throw new DOMException("The user denied permission to access the database.", "SecurityError");
  },
} as unknown as IDBFactory;

export const always = (outcome: Outcome) => () => outcome;
export const shown = (store: RunStore, stepId: string) => store.answers.value.get(stepId);
export const kinds = (store: RunStore) => store.notices.value.map((notice) => notice.kind);
export const image = () => new Blob(["photo"], { type: "image/jpeg" });
