import { useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { t, translator } from "../../kit/language";
import { useApp } from "../context";
import type { Receipt, ServerRun } from "../store/types";
import { NotArrivedList } from "./not_arrived";
import { Notices } from "./notices";
import { SaveReceipt } from "./save_receipt";
import { Screen } from "./screen";

/** The run is submitted: shows the service's receipt. */
export function Done({ run }: { run: ServerRun }) {
  const { store } = useApp();
  return (
    <Screen title={t("done.title")} icon="check" tone="good" about={run.template.name}>
      <p>{t("done.text", { sender: run.created_by_name })}</p>
      <Notices />
      <NotArrivedList items={store.notArrived.value} template={run.template} />
      {run.receipt && <ReceiptList receipt={run.receipt} signer={run.signature?.name ?? null} />}
      <p class="quiet">{t("done.close")}</p>
    </Screen>
  );
}

function ReceiptList({ receipt, signer }: { receipt: Receipt; signer: string | null }) {
  const [copied, setCopied] = useState(false);
  const { moment, number } = translator.value;
  const rows: [string, string, string?][] = [
    [t("done.completed_at"), moment(receipt.completed_at)],
    [t("done.answers"), number(receipt.answers)],
    [t("done.photos"), number(receipt.photos)],
    ...(signer === null ? [] : [[t("done.signed"), signer] as [string, string]]),
    [t("done.run_id"), receipt.run_id, "mono"],
    [t("done.digest"), receipt.digest, "mono"],
  ];
  const copy = async () => {
    await navigator.clipboard.writeText(rows.map(([name, value]) => `${name}: ${value}`).join("\n"));
    setCopied(true);
  };
  return (
    <section class="receipt" aria-labelledby="receipt-title">
      <h2 id="receipt-title">{t("done.receipt")}</h2>
      <dl class="facts">
        {rows.map(([name, value, kind]) => (
          <div key={name} class={kind ? "fact is-long" : "fact"}>
            <dt>{name}</dt>
            <dd class={kind} dir="auto">
              {value}
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet small">{t("done.digest_text")}</p>
      <SaveReceipt />
      {"clipboard" in navigator && (
        <button type="button" class="button" onClick={() => void copy().catch(() => setCopied(false))}>
          {copied && <Icon name="check" />}
          <span role="status">{t(copied ? "app.copied" : "done.copy_receipt")}</span>
        </button>
      )}
    </section>
  );
}
