import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { Dialog } from "../../kit/controls/dialog";
import { ApiError } from "../client";
import { TextField } from "./fields";
import { Failure } from "./states";

interface ConfirmProps {
  /** A question that names the object: "Revoke the key “Billing”?" */
  title: string;
  /** The consequences: what is deleted, what is kept. */
  children: ComponentChildren;
  /** The label of the button: "Revoke the key". */
  act: string;
  /** For irreversible or large actions: text that must be typed first. */
  typed?: string;
  harmless?: boolean;
  /** If it throws an ApiError, the dialog stays open and shows it. */
  onConfirm(): Promise<void>;
  onClose(): void;
}

/** Asks for confirmation. Unmount it in `onClose`, which is also called after the action. */
export function Confirm({ title, children, act, typed, harmless = false, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [submitted, setSubmitted] = useState(false);
  const matches = typed === undefined || text.trim() === typed.trim();
  const confirm = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    if (!matches) return setSubmitted(true);
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setError(problem);
      setBusy(false);
    }
  };
  const close = () => {
    if (!busy) onClose();
  };
  return (
    <Dialog
      title={title}
      onClose={close}
      foot={
        <>
          <button type="button" class="button" onClick={close}>
            Back
          </button>
          <button type="submit" form="confirm-form" class={harmless ? "button button-primary" : "button button-danger"} aria-disabled={busy}>
            {busy && <span class="spinner" />}
            {act}
          </button>
        </>
      }
    >
      <form id="confirm-form" class="form" onSubmit={(event) => void confirm(event)} noValidate>
        {children}
        {typed !== undefined && (
          <TextField
            name="typed"
            label={`Type “${typed}” to confirm`}
            value={text}
            autocomplete="off"
            error={submitted && !matches ? "The text does not match." : undefined}
            onInput={setText}
          />
        )}
        {error && <Failure error={error} />}
      </form>
    </Dialog>
  );
}
