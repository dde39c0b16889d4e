import type { ComponentChildren } from "preact";

import { t } from "../language";
import { Icon, type IconName } from "./icon";

/** The problem of the field above, linked by aria-describedby. */
export function FieldError({ id, class: kind = "", children }: { id: string; class?: string; children: ComponentChildren }) {
  return (
    <p class={`error ${kind}`} id={id}>
      <Icon name="alert" />
      <span>{children}</span>
    </p>
  );
}

export type Tone = "info" | "good" | "warn" | "bad";
const ICONS: Record<Tone, IconName> = { info: "info", good: "check-circle", warn: "clock", bad: "alert" };

interface MessageProps {
  tone: Tone;
  icon?: IconName;
  title?: string | undefined;
  children?: ComponentChildren;
  onDismiss?: (() => void) | undefined;
}

/** A message in the page. Icon and text convey its tone, not the colour alone. */
export function Message({ tone, icon, title, children, onDismiss }: MessageProps) {
  return (
    <div class={`message is-${tone}`}>
      <Icon name={icon ?? ICONS[tone]} />
      <div class="message-text">
        {title && <p class="message-title">{title}</p>}
        {children}
      </div>
      {onDismiss && (
        <button type="button" class="button button-quiet" onClick={onDismiss}>
          {t("app.dismiss")}
        </button>
      )}
    </div>
  );
}
