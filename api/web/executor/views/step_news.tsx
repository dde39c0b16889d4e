import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { stepsOf, type Template } from "../../core";
import { t } from "../../kit/language";
import { useApp } from "../context";

/** Announces how many steps appeared or disappeared, without moving the focus. */
export function StepNews({ template }: { template: Template }) {
  const { store, page } = useApp();
  useEffect(() => {
    let before: ReadonlySet<string> | null = null;
    return effect(() => {
      const now = store.applicable.value;
      const earlier = before;
      before = now;
      if (earlier === null) return;
      const came = stepsOf(template).filter((step) => now.has(step.id) && !earlier.has(step.id));
      const gone = [...earlier].filter((id) => !now.has(id)).length;
      const news = [
        came[0] !== undefined ? t("checklist.steps_appeared", { count: came.length, label: came[0].label }) : "",
        gone > 0 ? t("checklist.steps_left", { count: gone }) : "",
      ].filter((text) => text !== "");
      if (news.length > 0) page.announce(news.join(". "));
    });
  }, [template]);
  return null;
}
