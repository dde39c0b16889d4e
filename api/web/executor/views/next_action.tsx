import { useMemo, useRef } from "preact/hooks";

import { stepsOf } from "../../core";
import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";
import { nextGap } from "../page";
import type { ServerRun } from "../store/types";

/** Goes to the next step that blocks the submit, and says how many there are. */
export function NextGap({ run }: { run: ServerRun }) {
  const { page } = useApp();
  const gaps = page.gaps.value;
  const asked = useMemo(() => new Set(stepsOf(run.template).flatMap((step) => (step.required ? [step.id] : []))), [run.template]);
  const left = gaps.filter((id) => asked.has(id)).length;
  const visited = useRef<string | null>(null);
  const next = () => {
    const { layout, current } = page.walk;
    const from = layout.peek() === "list" ? visited.current : current.peek();
    const order = stepsOf(run.template).map((step) => step.id);
    visited.current = nextGap(page.gaps.peek(), order, from);
    // The only open step may be in view already: the way on is into its field.
    if (visited.current !== null) page.goTo(visited.current, gaps.length === 1 ? "field" : "label");
  };
  return (
    <button type="button" class="button button-wide next-gap" onClick={next}>
      <span class="next-count">{countText(left, gaps.length)}</span>
      <span class="next-hint">
        {t("checklist.next_gap")}
        <Icon name="next" />
      </span>
    </button>
  );
}

export function ToReview() {
  const { store } = useApp();
  return (
    <button type="button" class="button button-primary button-wide" onClick={() => store.review(true)}>
      {t("checklist.to_review")}
      <Icon name="forward" />
    </button>
  );
}

/**
 * Rejected input also blocks the submit, even in an optional step; it is counted only if nothing required is missing.
 */
function countText(required: number, gaps: number): string {
  return required > 0 ? t("checklist.required_left", { count: required }) : t("problem.summary", { count: gaps });
}
