// @vitest-environment happy-dom
import { afterEach, describe, expect, test, vi } from "vitest";

import { act, mount, one, text } from "../../kit/testing/mount";
import { AppContext } from "../context";
import { runOf } from "../fixture/checklist";
import { type MemoryStore, memoryStore } from "../fixture/memory_store";
import { createPage } from "../page";
import type { ReceiptReply } from "../store/receipt_file";
import { step, template } from "../store/testing/templates";
import { SaveReceipt } from "./save_receipt";

const saved: string[] = [];

async function screen(): Promise<{ place: HTMLElement; store: MemoryStore; asked: string[]; answer: (reply: ReceiptReply) => Promise<void> }> {
  const store = memoryStore(runOf(template([step("s-one")])));
  const asked: string[] = [];
  let reply: (reply: ReceiptReply) => void = () => undefined;
  Object.assign(store, { receipt: (locale: string) => new Promise<ReceiptReply>((resolve) => (asked.push(locale), (reply = resolve))) });
  const place = await mount(
    <AppContext.Provider value={{ store, page: createPage(store) }}>
      <SaveReceipt />
    </AppContext.Provider>,
  );
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download);
  });
  return { place, store, asked, answer: (given) => act(async () => reply(given)) };
}

const press = (place: HTMLElement) => act(() => one(place, "button").click());
const news = (place: HTMLElement) => text(one(place, "[role=status]"));

afterEach(() => {
  vi.restoreAllMocks();
  saved.length = 0;
});

describe("the button that saves the receipt", () => {
  test("asks once while it works, and saves the file under its name", async () => {
    const { place, asked, answer } = await screen();
    expect(news(place)).toBe("");
    await press(place);
    await press(place);
    expect(asked).toEqual(["en"]);
    expect(news(place)).toBe("Creating the receipt…");
    expect(one(place, "button").getAttribute("aria-disabled")).toBe("true");
    await answer({ kind: "file", content: new Blob(["%PDF-"]), name: "Check 2026-11-21.pdf" });
    expect(saved).toEqual(["Check 2026-11-21.pdf"]);
    expect(news(place)).toBe("The receipt is saved.");
  });

  test("says that it needs a connection while there is none, and works again after", async () => {
    const { place, store, asked } = await screen();
    await act(() => void (store.sync.value = { state: "offline", waiting: 0 }));
    expect(news(place)).toBe("Saving a receipt needs a connection.");
    await press(place);
    expect(asked).toEqual([]);
    await act(() => void (store.sync.value = { state: "saved", waiting: 0 }));
    expect(news(place)).toBe("");
    const network = vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
    await act(() => void window.dispatchEvent(new Event("offline")));
    expect(news(place)).toBe("Saving a receipt needs a connection.");
    network.mockReturnValue(true);
    await act(() => void window.dispatchEvent(new Event("online")));
    expect(news(place)).toBe("");
    await press(place);
    expect(asked).toHaveLength(1);
  });

  test.each([
    [{ kind: "network" }, "Saving a receipt needs a connection."],
    [{ kind: "refused", status: 503 }, "The receipt could not be created. Try again in a moment."],
  ] as const)("after %o it says what to do", async (reply, said) => {
    const { place, asked, answer } = await screen();
    await press(place);
    await answer(reply);
    expect([saved, news(place)]).toEqual([[], said]);
    await press(place);
    expect(asked).toHaveLength(2);
  });
});
