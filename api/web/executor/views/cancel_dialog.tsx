import { useId, useState } from "preact/hooks";

import { MAX_REASON } from "../../core";
import { Dialog } from "../../kit/controls/dialog";
import { t } from "../../kit/language";
import { isKept, useApp } from "../context";
import type { ServerRun } from "../store/types";

/** Confirms the cancellation, which is final; the first button goes back. */
export function CancelDialog({ run, onClose }: { run: ServerRun; onClose(): void }) {
  const { store } = useApp();
  const [reason, setReason] = useState("");
  const id = useId();
  const stop = () => {
    onClose();
    void isKept(store.cancel(reason.trim() === "" ? null : reason.trim()));
  };
  return (
    <Dialog
      title={t("cancel.title")}
      onClose={onClose}
      foot={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t("cancel.keep")}
          </button>
          <button type="button" class="button button-danger" onClick={stop}>
            {t("cancel.confirm")}
          </button>
        </>
      }
    >
      <p>{t("cancel.text", { sender: run.created_by_name })}</p>
      <div class="field">
        <label for={id}>{t("cancel.reason")}</label>
        <textarea
          id={id}
          class="input"
          rows={3}
          dir="auto"
          maxLength={MAX_REASON}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </div>
    </Dialog>
  );
}
