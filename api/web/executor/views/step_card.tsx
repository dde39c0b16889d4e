import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Step } from "../../core";
import { useApp } from "../context";
import { StepBody } from "./step_body";

/** Duration of the collapse animation in the style sheet. */
const COLLAPSE_MS = 200;

interface StepCardProps {
  step: Step;
  /** The position in the whole checklist, from 0. */
  position: number;
}

/**
 * One step. It subscribes only to its own data: an answer elsewhere does not render it again. While it does not apply
 * it is an empty list item at its position.
 */
export function StepCard({ step, position }: StepCardProps) {
  const { store, page } = useApp();
  const applies = useComputed(() => store.applicable.value.has(step.id)).value;
  const drawn = useComputed(() => page.drawn.value > position).value;
  const [leaving, setLeaving] = useState(false);
  const before = useRef(applies);
  const came = applies && !before.current;

  useEffect(() => {
    if (before.current === applies) return;
    before.current = applies;
    if (applies || matchMedia("(prefers-reduced-motion: reduce)").matches) return setLeaving(false);
    setLeaving(true);
    const timer = window.setTimeout(() => setLeaving(false), COLLAPSE_MS);
    return () => window.clearTimeout(timer);
  }, [applies]);

  const arriving = useRef(false);
  if (came) arriving.current = true;
  if (!applies && !leaving && before.current === applies) return <li class="slot is-absent" />;
  if (!drawn) return <li class="slot is-waiting" />;
  const motion = leaving || !applies ? " is-leaving" : arriving.current ? " is-arriving" : "";
  return (
    <li class={`slot${motion}`} inert={!applies}>
      <div class="slot-inner">
        <StepBody step={step} />
      </div>
    </li>
  );
}

