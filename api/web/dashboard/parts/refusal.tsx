import { useEffect, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import type { ApiError } from "../client";
import { counted } from "./progress";
import { Failure } from "./states";

/** As `Failure`, but for a rate limit shows when to try again. `onOver` is called at that time. */
export function Refusal({ error, onOver }: { error: ApiError; onOver(): void }) {
  const [left, setLeft] = useState(error.retryAfter ?? 0);
  const throttled = error.status === 429;
  useEffect(() => {
    if (!throttled) return;
    const until = Date.now() + (error.retryAfter ?? 1) * 1000;
    const timer = setInterval(() => {
      const seconds = Math.ceil((until - Date.now()) / 1000);
      setLeft(seconds);
      if (seconds > 0) return;
      clearInterval(timer);
      onOver();
    }, 1000);
    return () => clearInterval(timer);
  }, [error]);
  if (!throttled) return <Failure error={error} />;
  return (
    <div class="message is-warn">
      <Icon name="clock" />
      <div class="message-text">
        <p role="alert">Too many attempts.</p>
        <p>Try again in {counted(Math.max(1, left), "second")}.</p>
      </div>
    </div>
  );
}
