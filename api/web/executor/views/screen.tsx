import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { Icon, type IconName } from "../../kit/controls/icon";
import type { Tone } from "../../kit/controls/messages";
import { t } from "../../kit/language";
import { LanguageChoice } from "./language_choice";

/** The first view does not take the focus: the page was just opened. */
let isFirst = true;

/** Whether a view replaces another one, and should take the focus. Asked once by each view. */
export function replacesView(): boolean {
  const replaces = !isFirst;
  isFirst = false;
  return replaces;
}

/** The heading of a view. It gets the focus when the view replaces another one, so that it is announced. */
export function Heading({ children, class: kind }: { children: ComponentChildren; class?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Synchronous, so that a later scroll to a step takes precedence.
  useLayoutEffect(() => {
    if (!replacesView()) return;
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
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
  /** A line above the title: the subject. */
  about?: string;
  children?: ComponentChildren;
}

/** A view with one message: the state, and the next action. */
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

export function SkipLink() {
  return (
    <a class="skip-link" href="#content" onClick={(event) => toContent(event)}>
      {t("app.skip_to_content")}
    </a>
  );
}

function toContent(event: Event): void {
  // Keeps the fragment in the address: it contains the token.
  event.preventDefault();
  document.getElementById("content")?.focus();
}

export function Footer() {
  return (
    <footer class="page-foot">
      <LanguageChoice id="language" />
    </footer>
  );
}
