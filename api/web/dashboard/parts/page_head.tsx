import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { arriveAt } from "../arrival";
import { organization } from "../session";
import { Link } from "./link";

interface PageHeadProps {
  /** The page's first-level heading, and the beginning of the document's title. */
  title: string;
  /** Breadcrumbs, outermost first. */
  trail?: readonly { readonly to: string; readonly title: string }[];
  /** A badge next to the heading. */
  badge?: ComponentChildren;
  /** A sentence or facts below the heading. */
  children?: ComponentChildren;
  /** Buttons; at most one is primary. */
  actions?: ComponentChildren;
}

/** The head of every page. It gets the focus after navigation. */
export function PageHead({ title, trail = [], badge, children, actions }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const owner = organization.value?.name;
  useEffect(() => {
    document.title = [title, owner, "Checklist Dispatch"].filter(Boolean).join(" · ");
  }, [title, owner]);
  useLayoutEffect(() => {
    if (heading.current !== null) arriveAt(heading.current);
  }, []);
  return (
    <div class="page-head">
      {trail.length > 0 && (
        <nav class="trail small" aria-label="Breadcrumb">
          <ol>
            {trail.map((one) => (
              <li key={one.to}>
                <Link to={one.to}>{one.title}</Link>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-head-row">
        <div class="page-title">
          <h1 ref={heading} tabIndex={-1} dir="auto">
            {title}
          </h1>
          {badge}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children && <div class="page-lead">{children}</div>}
    </div>
  );
}

interface SectionProps {
  title: string;
  /** Buttons at the end of the heading's line. */
  actions?: ComponentChildren;
  /** Text below the heading. */
  lead?: ComponentChildren;
  id?: string;
  children: ComponentChildren;
}

/** A part of a page, with a second-level heading. */
export function Section({ title, actions, lead, id, children }: SectionProps) {
  return (
    <section class="section" id={id} aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {lead && <p class="quiet">{lead}</p>}
      {children}
    </section>
  );
}
