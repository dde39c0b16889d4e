import type { ComponentChildren } from "preact";

import { hrefOf, navigate } from "../router";

interface LinkProps {
  /** A path below the dashboard's base. */
  to: string;
  current?: boolean;
  class?: string | undefined;
  children: ComponentChildren;
  onFollow?: () => void;
}

/** A link within the dashboard: client-side navigation on an ordinary click, a normal link for new tabs. */
export function Link({ to, current, class: kind, children, onFollow }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    onFollow?.();
    navigate(to);
  };
  return (
    <a href={hrefOf(to)} class={kind} aria-current={current ? "page" : undefined} onClick={onClick}>
      {children}
    </a>
  );
}
