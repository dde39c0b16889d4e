/**
 * The browser's Back closes what is open on top of the page (a dialog, the review) instead of leaving the page.
 *
 * Each open layer has an entry in the browser's history, whose state lists the names of the open layers. Layers open and
 * close faster than the browser moves through its history, so both are compared afterwards: one dialog that replaces
 * another keeps its entry.
 */
import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";

export interface Layer {
  /** In the state of its history entry. */
  readonly name: string;
  /** Called for the browser's Back. The layer must then be removed. */
  close(): void;
}

/** The parts of `window` in use. */
export interface Browser {
  readonly history: Pick<History, "state" | "pushState" | "replaceState" | "go">;
  addEventListener(type: "popstate", listener: () => void): void;
  removeEventListener(type: "popstate", listener: () => void): void;
}

export class BackStack {
  private layers: readonly Layer[] = [];
  private scheduled = false;
  /** Whether the browser is on its way to an entry that this object asked for. */
  private moving = false;

  /** `reopen` opens the named layer, for the browser's Forward, if that is possible. */
  constructor(
    private readonly browser: Browser,
    private readonly reopen: (name: string) => boolean = () => false,
  ) {
    browser.addEventListener("popstate", this.onMove);
    // After a reload, the entry of a layer that is no longer open.
    this.schedule();
  }

  /** Adds a layer on top; the returned function removes it. */
  add(layer: Layer): () => void {
    this.layers = [...this.layers, layer];
    this.schedule();
    return () => {
      this.layers = this.layers.filter((other) => other !== layer);
      this.schedule();
    };
  }

  end(): void {
    this.browser.removeEventListener("popstate", this.onMove);
  }

  private readonly onMove = (): void => {
    if (this.moving) this.moving = false;
    else this.follow(this.shown());
    this.schedule();
  };

  /** The person moved to the entry with these layers. */
  private follow(names: readonly string[]): void {
    for (const layer of this.layers.slice(names.length).reverse()) layer.close();
    const next = names[this.layers.length];
    if (next !== undefined) this.reopen(next);
  }

  /** The layers of the current entry. */
  private shown(): readonly string[] {
    const { layers } = (this.browser.history.state ?? {}) as { layers?: unknown };
    return Array.isArray(layers) ? layers.map(String) : [];
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setTimeout(() => {
      this.scheduled = false;
      this.compare();
    });
  }

  private compare(): void {
    if (this.moving) return;
    const { history } = this.browser;
    const [names, shown] = [this.layers.map((layer) => layer.name), this.shown()];
    if (shown.length > names.length) {
      this.moving = true;
      history.go(names.length - shown.length);
    } else if (shown.length > 0 && shown.join() !== names.slice(0, shown.length).join()) {
      history.replaceState({ layers: names.slice(0, shown.length) }, "");
    }
    for (let count = shown.length + 1; count <= names.length; count++) history.pushState({ layers: names.slice(0, count) }, "");
  }
}

/** null: Back leaves the page, as in the dashboard, whose router has the history. */
export const BackContext = createContext<BackStack | null>(null);

/** Makes the component a layer while it is mounted. */
export function useLayer(name: string, close: () => void): void {
  const stack = useContext(BackContext);
  const newest = useRef(close);
  newest.current = close;
  useLayoutEffect(() => stack?.add({ name, close: () => newest.current() }), [stack]);
}
