import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

import { query, setQuery } from "../router";

interface Tab {
  readonly id: string;
  readonly title: string;
  /** After the title, e.g. a number. */
  readonly badge?: ComponentChildren;
  body(): ComponentChildren;
}

interface TabsProps {
  /** The accessible name of the tab list. */
  label: string;
  /** The query parameter of the open tab; omitted for the first tab. */
  name?: string;
  tabs: readonly Tab[];
}

/** Tabs in the address. Arrow keys, Home and End move between them; only the open tab's body is rendered. */
export function Tabs({ label, name = "tab", tabs }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const wanted = query.value.get(name);
  const open = tabs.find((tab) => tab.id === wanted) ?? tabs[0];
  if (open === undefined) return null;
  const choose = (tab: Tab) => setQuery({ [name]: tab === tabs[0] ? null : tab.id });
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.indexOf(open);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const index = (next + tabs.length) % tabs.length;
    const tab = tabs[index];
    if (tab) choose(tab);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  };
  return (
    <div class="tabs">
      <div ref={list} class="tab-list" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab === open}
            aria-controls={`${id}-panel`}
            tabIndex={tab === open ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab.title}
            {tab.badge}
          </button>
        ))}
      </div>
      <div key={open.id} id={`${id}-panel`} class="tab-panel" role="tabpanel" aria-labelledby={`${id}-${open.id}`} tabIndex={0}>
        {open.body()}
      </div>
    </div>
  );
}
