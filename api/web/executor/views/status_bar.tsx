import { useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";
import type { ServerRun } from "../store/types";
import { ChecklistMenu } from "./checklist_menu";
import { SectionSheet } from "./section_sheet";
import { SyncPill } from "./sync_pill";

/** At the upper edge: progress, which opens all steps; sync state; menu. */
export function StatusBar({ run }: { run: ServerRun }) {
  const [open, setOpen] = useState<"menu" | "steps" | null>(null);
  const close = () => setOpen(null);
  return (
    <div class="status-bar">
      <div class="status-row">
        <ProgressMeter onOpen={() => setOpen("steps")} />
        <SyncPill />
        <button type="button" class="button button-quiet button-icon" aria-haspopup="dialog" aria-label={t("app.menu")} onClick={() => setOpen("menu")}>
          <Icon name="menu" />
        </button>
      </div>
      {open === "menu" && <ChecklistMenu run={run} onClose={close} />}
      {open === "steps" && <SectionSheet run={run} onClose={close} />}
    </div>
  );
}

/** The button lies over the progress bar, which would lose its role inside of it. */
function ProgressMeter({ onOpen }: { onOpen(): void }) {
  const { store } = useApp();
  const { total, answered, skipped } = store.progress.value;
  const done = answered + skipped;
  return (
    <div class="meter">
      <span class="meter-text" aria-hidden="true">
        {t("checklist.progress", { answered: done, total })}
        <Icon name="down" />
      </span>
      <div
        class="meter-track"
        role="progressbar"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
        aria-label={t("checklist.progress_label", { answered: done, total })}
      >
        <div class="meter-fill" style={{ inlineSize: `${total === 0 ? 0 : (done / total) * 100}%` }} />
      </div>
      <button type="button" class="meter-open" aria-haspopup="dialog" aria-label={t("steps.open_sheet", { answered: done, total })} onClick={onOpen} />
    </div>
  );
}
