import { useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { t, translator } from "../../kit/language";
import { useOnline } from "../../kit/online";
import { saveFile } from "../../kit/save_file";
import { useApp } from "../context";

type State = "ready" | "working" | "saved" | "offline" | "failed";

/** Saves the receipt as a PDF, in the language of the page. The service makes it, so this needs a connection. */
export function SaveReceipt() {
  const { store } = useApp();
  const [state, setState] = useState<State>("ready");
  const isOnline = useOnline();
  // A run that has ended sends nothing, so that nothing might tell that the network has gone.
  const isOffline = !isOnline || store.sync.value.state === "offline";
  const shown = isOffline && state !== "working" ? "offline" : state;
  const save = async () => {
    if (isOffline || state === "working") return;
    setState("working");
    const reply = await store.receipt(translator.peek().locale);
    if (reply.kind === "file") saveFile(reply.content, reply.name);
    setState(reply.kind === "file" ? "saved" : reply.kind === "network" ? "offline" : "failed");
  };
  return (
    <>
      <button type="button" class="button" aria-disabled={isOffline || state === "working"} aria-describedby="receipt-news" onClick={() => void save()}>
        {shown === "working" ? <span class="spinner" aria-hidden="true" /> : <Icon name={shown === "saved" ? "check" : "download"} />}
        {t("done.save_receipt")}
      </button>
      <p id="receipt-news" class="quiet small" role="status">
        {shown !== "ready" && t(`done.receipt_${shown}`)}
      </p>
    </>
  );
}
