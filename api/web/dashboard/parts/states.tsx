/** Page states: loading, empty, failed, not allowed. */
import type { ComponentChildren } from "preact";

import { Icon } from "../../kit/controls/icon";
import { type ApiError, isAnswering } from "../client";

export function Loading({ what }: { what: string }) {
  return (
    <p class="state loading quiet" role="status">
      <span class="spinner" />
      Loading {what} …{!isAnswering.value && " The service does not answer yet."}
    </p>
  );
}

interface EmptyProps {
  title: string;
  /** The next step, with its link or button. */
  children?: ComponentChildren;
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="state empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="message is-bad failure" role="alert">
      <Icon name="alert" />
      <div class="message-text">
        <p>{error.message}</p>
        {error.requestId !== null && <p class="small quiet">Request {error.requestId}</p>}
      </div>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function NoPermission({ needs }: { needs: string }) {
  return (
    <div class="state empty">
      <h2>Your role does not allow this</h2>
      <p>This page needs the role {needs}. Ask an administrator of your organization.</p>
    </div>
  );
}
