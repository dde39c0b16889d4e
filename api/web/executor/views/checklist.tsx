import { useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { Section } from "../../core";
import { t } from "../../kit/language";
import { useApp } from "../context";
import type { ServerRun } from "../store/types";
import { ExpiryNotice } from "./expiry_notice";
import { Notices } from "./notices";
import { NextGap, ToReview } from "./next_action";
import { Footer, Heading, SkipLink } from "./screen";
import { StatusBar } from "./status_bar";
import { StepCard } from "./step_card";
import { StepNews } from "./step_news";
import { SyncNews } from "./sync_pill";

/** The checklist: one card per step, and the next action at the lower edge. */
export function Checklist({ run }: { run: ServerRun }) {
  const { page } = useApp();
  const { template } = run;
  const total = template.sections.reduce((sum, section) => sum + section.steps.length, 0);
  useEffect(() => page.drawAll(total), [total]);
  let position = 0;
  return (
    <>
      <SkipLink />
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
  const { page } = useApp();
  return (
    <div class="next-bar">
      <div class="next-row">{page.gaps.value.length > 0 ? <NextGap run={run} /> : <ToReview />}</div>
    </div>
  );
}
