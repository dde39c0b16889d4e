import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { useLayer } from "../back";
import { t } from "../language";
import { Icon } from "./icon";

interface DialogProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  /** Sticky buttons at the lower edge. */
  foot?: ComponentChildren;
  /** Focuses the first field instead of the heading: for short forms. */
  focusField?: boolean;
  class?: string;
}

/**
 * A modal dialog. The browser traps the focus, closes the dialog with Escape and restores the focus; its Back closes it,
 * too, where the page has a `BackStack`. Mount it to open it, unmount it to close it.
 */
export function Dialog({ title, onClose, children, foot, focusField = false, class: kind }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayer("dialog", onClose);

  // Synchronous: a key pressed meanwhile would go to the page behind the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    if (focusField) dialog?.querySelector<HTMLElement>(".dialog-body :is(input, textarea, select)")?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);

  const onBackdrop = (event: MouseEvent) => {
    if (event.target === element.current) onClose();
  };
  const onCancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };

  return (
    <dialog ref={element} class={kind} aria-labelledby={titleId} onClick={onBackdrop} onCancel={onCancel}>
      <div class="dialog-head">
        <h2 id={titleId} dir="auto" tabIndex={-1} autofocus>
          {title}
        </h2>
        <button type="button" class="button button-quiet button-icon" aria-label={t("app.close")} onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="dialog-body">{children}</div>
      {foot && <div class="dialog-foot">{foot}</div>}
    </dialog>
  );
}
