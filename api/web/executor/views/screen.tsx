import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { Icon, type IconName } from "../../kit/controls/icon";
import type { Tone } from "../../kit/controls/messages";
import { LanguageChoice } from "./language_choice";

/** The first view takes no focus: the browser has only just opened the page. */
let isFirst = true;

/** The heading of a view. When a view takes the place of another one, it gets the focus, so that it is read out. */
export function Heading({ children, class: kind }: { children: ComponentChildren; class?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // At once, so that a jump to a step, which comes after it, has the last word.
  useLayoutEffect(() => {
    if (!isFirst) {
      window.scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    isFirst = false;
  }, []);
  return (
    <h1 ref={heading} class={kind} tabIndex={-1}>
      {children}
    </h1>
  );
}

interface ScreenProps {
  title: string;
  icon?: IconName;
  tone?: Tone | "plain";
  /** A line above the title: what it is about. */
  about?: string;
  children?: ComponentChildren;
}

/** A view that says one thing: where the person stands, and what to do next. */
export function Screen({ title, icon, tone = "plain", about, children }: ScreenProps) {
  return (
    <>
      <main id="content" class="screen">
        <div class="panel">
          {icon && (
            <span class={`badge badge-${tone}`}>
              <Icon name={icon} />
            </span>
          )}
          {about && (
            <p class="about" dir="auto">
              {about}
            </p>
          )}
          <Heading>{title}</Heading>
          {children}
        </div>
      </main>
      <Footer />
    </>
  );
}

export function Footer() {
  return (
    <footer class="page-foot">
      <LanguageChoice id="language" />
    </footer>
  );
}
