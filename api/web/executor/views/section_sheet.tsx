import { useMemo, useState } from "preact/hooks";

import { type Section, type Step, takesAnswer } from "../../core";
import { Dialog } from "../../kit/controls/dialog";
import { Icon, type IconName } from "../../kit/controls/icon";
import { matches, SearchField } from "../../kit/controls/search";
import { t } from "../../kit/language";
import { useApp } from "../context";
import { isRefused } from "../store/refused_photos";
import type { ServerRun } from "../store/types";
import { isOpen } from "../walk";

type State = "answered" | "skipped" | "open" | "attention" | "instruction";

interface Row {
  readonly step: Step;
  readonly state: State;
}

interface Group {
  readonly section: Section;
  /** The rows that are shown. */
  readonly rows: readonly Row[];
  readonly done: number;
  readonly total: number;
}

const ICONS: Readonly<Record<State, IconName>> = { answered: "check-circle", skipped: "skip", open: "circle", attention: "alert", instruction: "info" };

/** All steps by section, to jump to one: with a search, and a filter for those that are still open. */
export function SectionSheet({ run, onClose }: { run: ServerRun; onClose(): void }) {
  const { page } = useApp();
  const [query, setQuery] = useState("");
  const [onlyOpen, setOnlyOpen] = useState(false);
  const here = page.walk.layout.value === "list" ? null : page.walk.current.value;
  const groups = useGroups(run, query, onlyOpen);
  const found = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const isFiltered = query.trim() !== "" || onlyOpen;
  const jump = (stepId: string) => {
    onClose();
    page.goTo(stepId);
  };
  return (
    <Dialog title={t("steps.title")} class="choice-dialog" onClose={onClose}>
      <SearchField label={t("steps.search")} value={query} onInput={setQuery} />
      <label class="choice only-open">
        <input type="checkbox" checked={onlyOpen} onChange={(event) => setOnlyOpen(event.currentTarget.checked)} />
        <span>{t("steps.only_open")}</span>
      </label>
      <p class="vh" role="status">
        {isFiltered ? t("preview.steps", { count: found }) : ""}
      </p>
      {found === 0 && <p class="quiet">{query.trim() === "" ? t("steps.none_open") : t("steps.not_found", { query })}</p>}
      {groups.map((group) => (
        <SectionRows
          key={group.section.id}
          group={group}
          here={here}
          isAlone={groups.length === 1}
          isFiltered={isFiltered}
          onJump={jump}
        />
      ))}
    </Dialog>
  );
}

/** Sections with at least one step to show. Counts are of all steps of the section that apply. */
function useGroups(run: ServerRun, query: string, onlyOpen: boolean): readonly Group[] {
  const { store, page } = useApp();
  const [answers, applicable, held] = [store.answers.value, store.applicable.value, page.held.value];
  const states = useMemo(() => {
    const stateOf = (step: Step): State => {
      const answer = answers.get(step.id);
      if (!takesAnswer(step)) return "instruction";
      if (held.has(step.id) || answer?.problem || answer?.photos.some(isRefused)) return "attention";
      if (answer?.skipped) return "skipped";
      return isOpen(step, answer) ? "open" : "answered";
    };
    return run.template.sections.map((section) => ({
      section,
      rows: section.steps.filter((step) => applicable.has(step.id)).map((step) => ({ step, state: stateOf(step) })),
    }));
  }, [run, answers, applicable, held]);
  return useMemo(
    () =>
      states
        .map(({ section, rows }): Group => {
          const counted = rows.filter(({ state }) => state !== "instruction");
          const isShown = ({ step, state }: Row) => (!onlyOpen || state === "open" || state === "attention") && matches(step.label, query);
          return {
            section,
            rows: rows.filter(isShown),
            done: counted.filter(({ state }) => state === "answered" || state === "skipped").length,
            total: counted.length,
          };
        })
        .filter(({ rows }) => rows.length > 0),
    [states, query, onlyOpen],
  );
}

interface SectionRowsProps {
  group: Group;
  /** The step on the screen. */
  here: string | null;
  isAlone: boolean;
  /** Whether the person searches: then the found steps are shown. */
  isFiltered: boolean;
  onJump(stepId: string): void;
}

/** A section, which opens and closes; at first, only the one of the step on the screen is open. */
function SectionRows({ group: { section, rows, done, total }, here, isAlone, isFiltered, onJump }: SectionRowsProps) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = isFiltered || (chosen ?? (isAlone || rows.some(({ step }) => step.id === here)));
  const id = `${section.id}-rows`;
  return (
    <section class="sheet-section">
      <h3>
        <button type="button" class="sheet-head" aria-expanded={open} aria-controls={open ? id : undefined} disabled={isFiltered} onClick={() => setChosen(!open)}>
          <span class="sheet-title" dir="auto">
            {section.title}
          </span>{" "}
          <span class={done === total ? "sheet-count is-good" : "sheet-count"}>
            {done === total && total > 0 && <Icon name="check" />}
            {t("checklist.progress", { answered: done, total })}
          </span>
          {!isFiltered && <Icon name={open ? "up" : "down"} />}
        </button>
      </h3>
      {open && (
        <ul id={id} class="sheet-rows">
          {rows.map(({ step, state }) => (
            <li key={step.id}>
              <button type="button" class={`sheet-row is-${state}`} aria-current={step.id === here ? "step" : undefined} onClick={() => onJump(step.id)}>
                <Icon name={ICONS[state]} />
                <span class="sheet-label" dir="auto">
                  {step.label}
                </span>
                <span class="vh">{`, ${nameOf(state)}`}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function nameOf(state: State): string {
  if (state === "skipped") return t("checklist.skipped");
  if (state === "attention") return t("sync.attention");
  if (state === "instruction") return t("checklist.instruction");
  return t(`steps.${state}`);
}
