import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "../../kit/controls/icon";

export type BadgeTone = "neutral" | "info" | "good" | "warn" | "bad";
const ICONS: Readonly<Record<BadgeTone, IconName>> = { neutral: "circle", info: "clock", good: "check-circle", warn: "alert", bad: "alert" };

interface BadgeProps {
  tone?: BadgeTone;
  icon?: IconName;
  children: ComponentChildren;
}

/** A status with icon and text; the colour is only an addition. */
export function Badge({ tone = "neutral", icon, children }: BadgeProps) {
  return (
    <span class={`badge is-${tone}`}>
      <Icon name={icon ?? ICONS[tone]} />
      <span>{children}</span>
    </span>
  );
}

/** The number of a run's answers outside what is expected. */
export function FlaggedBadge({ count, short = false }: { count: number; short?: boolean }) {
  return (
    <Badge tone="warn" icon="flag">
      {count}
      <span class={short ? "vh" : undefined}> flagged</span>
    </Badge>
  );
}

const RUN_STATUSES: Readonly<Record<string, readonly [word: string, tone: BadgeTone, icon: IconName]>> = {
  pending: ["Pending", "neutral", "circle"],
  in_progress: ["In progress", "info", "pen"],
  completed: ["Completed", "good", "check-circle"],
  cancelled: ["Cancelled", "neutral", "close"],
  expired: ["Expired", "warn", "clock"],
};

/** The status of a run as a word; an unknown one as it is. */
export function runStatusText(status: string): string {
  return RUN_STATUSES[status]?.[0] ?? status;
}

/** The status of a run as text; an unknown one is shown as it is. */
export function RunStatusBadge({ status }: { status: string }) {
  const [word, tone, icon] = RUN_STATUSES[status] ?? [status, "neutral", "circle"];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}
