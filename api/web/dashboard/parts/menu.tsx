import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";

interface MenuProps {
  /** The accessible name; `face` is the visible content. */
  label: string;
  face: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
  class?: string;
}

/** A button that opens a menu of links and buttons. Escape and a click elsewhere close it. */
export function Menu({ label, face, children, class: kind = "" }: MenuProps) {
  const [open, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!open) return;
    const elsewhere = (event: Event) => {
      if (event.target instanceof Node && !whole.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", elsewhere);
    return () => {
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", elsewhere);
    };
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const entries = [...(whole.current?.querySelectorAll<HTMLElement>(".menu-list a, .menu-list button") ?? [])];
      const at = entries.indexOf(document.activeElement as HTMLElement);
      const next = event.key === "ArrowDown" ? at + 1 : at < 1 ? entries.length - 1 : at - 1;
      entries[next % entries.length]?.focus();
    }
  };
  return (
    <div ref={whole} class={`menu ${kind}`} onKeyDown={onKeyDown}>
      <button ref={button} type="button" class="button button-quiet menu-button" aria-expanded={open} aria-controls={id} aria-label={label} onClick={() => setOpen(!open)}>
        {face}
        <Icon name="down" />
      </button>
      <div id={id} class="menu-list" hidden={!open}>
        {open && children(() => setOpen(false))}
      </div>
    </div>
  );
}
