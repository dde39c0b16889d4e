import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { type Section, stepsOf } from "../../core";
import { Icon } from "../../kit/controls/icon";
import { t } from "../../kit/language";
import { useApp } from "../context";
import { nextGap } from "../page";
import type { ServerRun } from "../store/types";
import { ChecklistMenu } from "./checklist_menu";
import { ExpiryNotice } from "./expiry_notice";
import { Notices } from "./notices";
import { Footer, Heading } from "./screen";
import { StepCard } from "./step_card";
import { StepNews } from "./step_news";
import { SyncNews, SyncPill } from "./sync_pill";

/** The checklist: one card per step, and the next action at the lower edge. */
export function Checklist({ run }: { run: ServerRun }) {
  const { page } = useApp();
  const { template } = run;
  const total = template.sections.reduce((sum, section) => sum + section.steps.length, 0);
  useEffect(() => page.drawAll(total), [total]);
  let position = 0;
  return (
    <>
      <a class="skip-link" href="#content" onClick={(event) => toContent(event)}>
        {t("app.skip_to_content")}
      </a>
      <header class="top">
        <div class="intro">
          <p class="about" dir="auto">
            {t("checklist.sent_by", { sender: run.created_by_name })}
          </p>
          <Heading>
            <span dir="auto">{template.name}</span>
          </Heading>
          {template.description && (
            <p class="prose quiet" dir="auto">
              {template.description}
            </p>
          )}
        </div>
        <StatusBar run={run} />
      </header>
      <main id="content" class="checklist" tabIndex={-1}>
        <ExpiryNotice expiresAt={run.expires_at} />
        <Notices />
        {template.sections.map((section) => {
          const first = position;
          position += section.steps.length;
          return <SectionGroup key={section.id} section={section} first={first} />;
        })}
        <NothingToDo />
      </main>
      <Footer />
      <NextBar run={run} />
      <StepNews template={template} />
      <SyncNews />
    </>
  );
}

function toContent(event: Event): void {
  // Keeps the fragment in the address: it contains the token.
  event.preventDefault();
  document.getElementById("content")?.focus();
}

/** Sticky at the upper edge: progress and sync state. */
function StatusBar({ run }: { run: ServerRun }) {
  const [open, setOpen] = useState(false);
  return (
    <div class="status-bar">
      <div class="status-row">
        <ProgressMeter />
        <SyncPill />
        <button type="button" class="button button-quiet button-icon" aria-haspopup="dialog" aria-label={t("app.menu")} onClick={() => setOpen(true)}>
          <Icon name="menu" />
        </button>
      </div>
      {open && <ChecklistMenu run={run} onClose={() => setOpen(false)} />}
    </div>
  );
}

function ProgressMeter() {
  const { store } = useApp();
  const { total, answered, skipped } = store.progress.value;
  const done = answered + skipped;
  return (
    <div class="meter">
      <span aria-hidden="true">{t("checklist.progress", { answered: done, total })}</span>
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
    </div>
  );
}

function SectionGroup({ section, first }: { section: Section; first: number }) {
  const { store } = useApp();
  const empty = useComputed(() => !section.steps.some((step) => store.applicable.value.has(step.id))).value;
  return (
    <section class={empty ? "group is-empty" : "group"} aria-labelledby={`${section.id}-title`}>
      <h2 id={`${section.id}-title`} dir="auto">
        {section.title}
      </h2>
      <ol class="steps" role="list">
        {section.steps.map((step, index) => (
          <StepCard key={step.id} step={step} position={first + index} />
        ))}
      </ol>
    </section>
  );
}

function NothingToDo() {
  const { store } = useApp();
  return store.applicable.value.size === 0 ? <p class="quiet">{t("checklist.nothing_applies")}</p> : null;
}

/** The primary action: go to the next missing step, or else to the review. */
function NextBar({ run }: { run: ServerRun }) {
  const { store, page } = useApp();
  const gaps = page.gaps.value;
  const asked = useMemo(() => new Set(stepsOf(run.template).flatMap((step) => (step.required ? [step.id] : []))), [run.template]);
  const left = gaps.filter((id) => asked.has(id)).length;
  const current = useRef<string | null>(null);
  const next = () => {
    const order = run.template.sections.flatMap((section) => section.steps.map((step) => step.id));
    current.current = nextGap(page.gaps.peek(), order, current.current);
    if (current.current !== null) page.goTo(current.current);
  };
  return (
    <div class="next-bar">
      <div class="next-row">
        {gaps.length > 0 ? (
          <button type="button" class="button button-wide next-gap" onClick={next}>
            <span class="next-count">{countText(left, gaps.length)}</span>
            <span class="next-hint">
              {t("checklist.next_gap")}
              <Icon name="next" />
            </span>
          </button>
        ) : (
          <button type="button" class="button button-primary button-wide" onClick={() => store.review(true)}>
            {t("checklist.to_review")}
            <Icon name="forward" />
          </button>
        )}
      </div>
    </div>
  );
}

/**
 * Rejected input also blocks the submit, even in an optional step; it is counted only if nothing required is missing.
 */
function countText(required: number, gaps: number): string {
  return required > 0 ? t("checklist.required_left", { count: required }) : t("problem.summary", { count: gaps });
}
