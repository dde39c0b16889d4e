import { beforeEach, describe, expect, test, vi } from "vitest";

import { BackStack, type Browser, type Layer } from "./back";

/** A browser's history: moves take effect later, as in a browser. */
class FakeBrowser implements Browser {
  private readonly entries: unknown[] = [null];
  private place = 0;
  private readonly listeners = new Set<() => void>();

  readonly history = {
    get state(): unknown {
      return null;
    },
    pushState: (state: unknown) => {
      this.entries.splice(this.place + 1);
      this.place = this.entries.push(state) - 1;
    },
    replaceState: (state: unknown) => {
      this.entries[this.place] = state;
    },
    go: (by: number) => void setTimeout(() => this.go(by), 5),
  } as Browser["history"];

  constructor(state: unknown = null) {
    if (state !== null) this.history.pushState(state, "");
    Object.defineProperty(this.history, "state", { get: () => this.entries[this.place] });
  }

  addEventListener(_: "popstate", listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_: "popstate", listener: () => void): void {
    this.listeners.delete(listener);
  }

  /** The number of entries that Back leads through without leaving the page. */
  get depth(): number {
    return this.place;
  }

  get state(): unknown {
    return this.entries[this.place];
  }

  /** The person's Back (-1) and Forward (1). */
  go(by: number): void {
    const place = this.place + by;
    if (place < 0 || place >= this.entries.length) throw new Error("the browser left the page");
    this.place = place;
    for (const listener of this.listeners) listener();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  return () => void vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTime(50);

/** A component that is a layer until it is closed. */
function opened(stack: BackStack, name = "dialog") {
  let remove: () => void = () => undefined;
  const layer: Layer & { isOpen: boolean; closeItself(): void } = {
    name,
    isOpen: true,
    close: () => layer.closeItself(),
    closeItself() {
      layer.isOpen = false;
      remove();
    },
  };
  remove = stack.add(layer);
  return layer;
}

describe("the browser's Back", () => {
  test("closes the top layer, and then the one below", () => {
    const browser = new FakeBrowser();
    const stack = new BackStack(browser);
    const review = opened(stack, "review");
    settle();
    const dialog = opened(stack);
    settle();
    browser.go(-1);
    settle();
    expect([review.isOpen, dialog.isOpen, browser.depth]).toEqual([true, false, 1]);
    browser.go(-1);
    settle();
    expect([review.isOpen, browser.depth]).toEqual([false, 0]);
  });

  test("has nothing to close after a layer was closed by its button", () => {
    const browser = new FakeBrowser();
    const dialog = opened(new BackStack(browser));
    settle();
    dialog.closeItself();
    settle();
    expect(browser.depth).toBe(0);
  });

  test("closes the dialog that replaced another in the same moment", () => {
    const browser = new FakeBrowser();
    const stack = new BackStack(browser);
    const menu = opened(stack);
    settle();
    menu.closeItself();
    const next = opened(stack, "review");
    settle();
    expect([browser.depth, browser.state]).toEqual([1, { layers: ["review"] }]);
    browser.go(-1);
    settle();
    expect([next.isOpen, browser.depth]).toEqual([false, 0]);
  });

  test("closes a layer that was opened while the browser was still going back", () => {
    const browser = new FakeBrowser();
    const stack = new BackStack(browser);
    const first = opened(stack);
    settle();
    first.closeItself();
    vi.advanceTimersByTime(2);
    const second = opened(stack);
    settle();
    expect([second.isOpen, browser.depth]).toEqual([true, 1]);
    browser.go(-1);
    expect(second.isOpen).toBe(false);
  });
});

test("Forward opens the review again, and leaves the entry of what cannot be opened", () => {
  const browser = new FakeBrowser();
  const reopened: string[] = [];
  const stack = new BackStack(browser, (name) => {
    if (name === "review") opened(stack, name);
    reopened.push(name);
    return name === "review";
  });
  for (const name of ["review", "dialog"]) {
    opened(stack, name);
    settle();
    browser.go(-1);
    settle();
    browser.go(1);
    settle();
    expect(reopened.at(-1)).toBe(name);
    expect(browser.depth).toBe(1);
  }
});

test("after a reload, the entries of the layers that were open are left", () => {
  const browser = new FakeBrowser({ layers: ["review"] });
  new BackStack(browser);
  settle();
  expect(browser.depth).toBe(0);
});
