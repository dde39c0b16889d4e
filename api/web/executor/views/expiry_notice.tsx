import { useEffect, useState } from "preact/hooks";

import { Message } from "../../kit/controls/messages";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";

/** Shown during the last day. */
const SOON_MS = 24 * 3_600_000;

/** Time until the link expires, by the service's clock: the device's may be wrong. */
export function ExpiryNotice({ expiresAt }: { expiresAt: string | null }) {
  const { store } = useApp();
  const left = () => (expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - store.now().getTime());
  const [soon, setSoon] = useState(left() < SOON_MS);
  useEffect(() => {
    const timer = window.setInterval(() => setSoon(left() < SOON_MS), 60_000);
    return () => window.clearInterval(timer);
  }, [expiresAt]);
  if (expiresAt === null || !soon) return null;
  return (
    <Message tone="warn">
      <p>{t("checklist.until", { date: translator.value.moment(expiresAt) })}</p>
    </Message>
  );
}
