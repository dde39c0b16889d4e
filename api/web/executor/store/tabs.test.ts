import "fake-indexeddb/auto";

import { describe, expect, test, vi } from "vitest";

import { type Channel, Tabs } from "./tabs";
import { Rig } from "./testing/rig";
import { settle, VirtualTime } from "./testing/virtual_time";

/** Web Locks for one name: one holder, a queue, and stealing. */
class Locks {
  private holder: { readonly lose: (reason: Error) => void } | null = null;
  private readonly line: (() => void)[] = [];

  readonly manager = {
    request: (_name: string, options: LockOptions, held: () => Promise<void> | undefined) =>
      new Promise<void>((resolve, reject) => {
        const begin = () => {
          const mine = { lose: reject };
          this.holder = mine;
          void Promise.resolve(held()).then(() => {
            resolve();
            if (this.holder === mine) this.release();
          });
        };
        if (options.steal) {
          this.holder?.lose(new DOMException("stolen", "AbortError"));
          begin();
        } else if (this.holder === null) begin();
        else {
          this.line.push(begin);
          options.signal?.addEventListener("abort", () => reject(new DOMException("gone", "AbortError")));
        }
      }),
  } as unknown as LockManager;

  private release(): void {
    this.holder = null;
    this.line.shift()?.();
  }
}

/** BroadcastChannel whose tabs can be frozen. */
class Air {
  private readonly channels = new Set<Channel & { frozen: boolean }>();

  readonly open = (): Channel & { frozen: boolean } => {
    const channel: Channel & { frozen: boolean } = {
      frozen: false,
      onmessage: null,
      postMessage: (message) => {
        for (const other of this.channels) {
          if (other !== channel && !other.frozen) queueMicrotask(() => other.onmessage?.({ data: message } as MessageEvent));
        }
      },
      close: () => void this.channels.delete(channel),
    };
    this.channels.add(channel);
    return channel;
  };
}

function tab(locks: Locks, air: Air, time: VirtualTime) {
  const channel = air.open();
  const changed = vi.fn();
  const tabs = new Tabs("run", locks.manager, time.device(), () => channel, changed);
  const state = { sending: false };
  const [begin, end] = [() => (state.sending = true), () => (state.sending = false)] as const;
  tabs.whenSender(begin, end);
  return { tabs, changed, state, channel, takeOver: () => tabs.takeOverIfSilent(begin, end) };
}

describe("of several tabs", () => {
  test("one sends, and another takes over when it is closed", async () => {
    const [locks, air, time] = [new Locks(), new Air(), new VirtualTime()];
    const [first, second] = [tab(locks, air, time), tab(locks, air, time)];
    await settle();
    expect([first.state.sending, second.state.sending]).toEqual([true, false]);
    first.tabs.close();
    await settle();
    expect(second.state.sending).toBe(true);
    second.tabs.close();
  });

  test("each sends for itself without Web Locks", async () => {
    const request = vi.fn(() => Promise.reject(new DOMException("denied", "SecurityError")));
    const [tabs, begin] = [new Tabs("run", { request } as unknown as LockManager, new VirtualTime().device(), null, vi.fn()), vi.fn()];
    tabs.whenSender(begin, vi.fn());
    await settle();
    expect([request.mock.calls.length, begin.mock.calls.length]).toEqual([1, 1]);
    tabs.close();
  });

  test("each is notified of changes in the others", async () => {
    const [locks, air, time] = [new Locks(), new Air(), new VirtualTime()];
    const [first, second] = [tab(locks, air, time), tab(locks, air, time)];
    first.tabs.changed();
    await settle();
    expect(second.changed).toHaveBeenCalledOnce();
    expect(first.changed).not.toHaveBeenCalled();
    first.tabs.close();
    second.tabs.close();
  });

  test("the visible one takes over from a frozen one, and not from a running one", async () => {
    const [locks, air, time] = [new Locks(), new Air(), new VirtualTime()];
    const [first, second] = [tab(locks, air, time), tab(locks, air, time)];
    await settle();
    second.takeOver();
    await settle();
    first.channel.frozen = true;
    // The response to the first question is valid.
    second.takeOver();
    await time.pass(5_000);
    expect([first.state.sending, second.state.sending]).toEqual([true, false]);
    second.takeOver();
    await time.pass(5_000);
    expect([first.state.sending, second.state.sending]).toEqual([false, true]);
    first.tabs.close();
    second.tabs.close();
  });
});

describe("the tab that sends", () => {
  for (const [what, token] of [["without a token", null], ["with a wrong token", "x".repeat(43)]] as const) {
    test(`${what} uses the one that another tab has stored`, async () => {
      const [rig, locks, air] = [new Rig(), new Locks(), new Air()];
      const tabs = { locks: locks.manager, channel: air.open };
      const first = await rig.visit({ token, tabs });
      const second = await rig.visit({ tabs });
      await second.answer("s-a", "warm");
      await second.submit(null);
      await rig.time.pass(60_000);
      expect(rig.service.status).toBe("completed");
      expect([first.phase.value, second.phase.value]).toEqual(["done", "done"]);
      rig.close();
    });
  }

  for (const [what, reopened] of [["that is given in it", false], ["that waited", true]] as const) {
    test(`is a new one next to a frozen one, for an answer ${what}`, async () => {
      const [rig, locks, air] = [new Rig(), new Locks(), new Air()];
      const frozen = tab(locks, air, rig.time);
      frozen.channel.frozen = true;
      const tabs = { locks: locks.manager, channel: air.open };
      const first = await rig.visit({ tabs });
      await first.answer("s-a", "warm");
      if (reopened) first.close();
      if (reopened) await rig.visit({ tabs });
      await rig.time.pass(10_000);
      expect(rig.service.answers.get("s-a")?.value).toBe("warm");
      frozen.tabs.close();
      rig.close();
    });
  }
});
