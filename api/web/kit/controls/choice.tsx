import { useMemo, useState } from "preact/hooks";

import { optionsOf } from "../../core";
import { t } from "../language";
import { ChoiceCards, type CardOption } from "./choice_cards";
import type { AnswerProps, ControlProps } from "./control";
import { ids } from "./control";
import { Dialog } from "./dialog";
import { Icon } from "./icon";
import { matches, SearchField } from "./search";

/** Maximum number of options shown as cards; longer lists are searched. */
const MAX_CARDS = 7;

interface ChoiceProps extends ControlProps {
  label: string;
  options: readonly CardOption[];
  chosen: readonly string[];
  multiple: boolean;
  onChange(chosen: string[]): void;
}

/** One or several options: cards for a few, a searchable list for many. */
export function ChoiceControl({ step, value, onChange, ...control }: AnswerProps) {
  const multiple = step.type === "multi_choice";
  const chosen = (Array.isArray(value) ? value : [value ?? ""]).map(String).filter((id) => id !== "");
  const change = (next: string[]) => void onChange(multiple && next.length > 0 ? next : (next[0] ?? null));
  const cards = { ...control, options: optionsOf(step), chosen, multiple, onChange: change };
  return cards.options.length <= MAX_CARDS ? <ChoiceCards {...cards} /> : <ChoiceList {...cards} label={step.label} />;
}

function ChoiceList({ id, label, options, chosen, multiple, labelledBy, describedBy, disabled, onChange }: ChoiceProps) {
  const [open, setOpen] = useState(false);
  const names = options.filter((option) => chosen.includes(option.id)).map((option) => option.label);
  const text = names.length === 0 ? t(multiple ? "choice.any" : "choice.one") : names.join(", ");
  return (
    <>
      <button
        type="button"
        id={id}
        class={names.length === 0 ? "picker is-empty" : "picker"}
        aria-haspopup="dialog"
        aria-labelledby={ids(labelledBy, `${id}-chosen`)}
        aria-describedby={describedBy}
        disabled={disabled}
        onClick={() => setOpen(true)}
      >
        <span id={`${id}-chosen`} dir="auto">{text}</span>
        <Icon name="down" />
      </button>
      {open && (
        <ChoiceDialog
          {...{ id, label, options, chosen, multiple }}
          onChange={(next) => {
            onChange(next);
            if (!multiple) setOpen(false);
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

interface ChoiceDialogProps {
  id: string;
  label: string;
  options: readonly CardOption[];
  chosen: readonly string[];
  multiple: boolean;
  onChange(chosen: string[]): void;
  onClose(): void;
}

function ChoiceDialog({ id, label, options, chosen, multiple, onChange, onClose }: ChoiceDialogProps) {
  const [query, setQuery] = useState("");
  const [marked, setMarked] = useState<readonly string[]>(chosen);
  const found = useMemo(() => options.filter((option) => matches(option.label, query)), [options, query]);
  const choose = (next: string[]) => {
    // Chosen options hidden by the search stay chosen.
    const hidden = multiple ? marked.filter((one) => !found.some((option) => option.id === one)) : [];
    const all = options.map((option) => option.id).filter((one) => hidden.includes(one) || next.includes(one));
    setMarked(all);
    onChange(all);
  };
  const count = query === "" ? "" : t("choice.found", { count: found.length });
  return (
    <Dialog
      title={label}
      class="choice-dialog"
      onClose={onClose}
      foot={
        multiple && (
          <button type="button" class="button button-primary" onClick={onClose}>
            {t("app.done")}
          </button>
        )
      }
    >
      <SearchField label={t("choice.search")} value={query} onInput={setQuery} />
      <p class="vh" role="status">
        {count}
      </p>
      {found.length === 0 && <p class="quiet">{t("choice.not_found", { query })}</p>}
      <ChoiceRows {...{ id: `${id}-list`, label, multiple, marked }} options={found} onChange={choose} onClose={onClose} />
    </Dialog>
  );
}

interface ChoiceRowsProps {
  id: string;
  label: string;
  options: readonly CardOption[];
  multiple: boolean;
  marked: readonly string[];
  onChange(chosen: string[]): void;
  onClose(): void;
}

/**
 * Several: check boxes. One: buttons, since with radio buttons the first arrow key would choose an option and close the
 * list.
 */
function ChoiceRows({ id, label, options, multiple, marked, onChange }: ChoiceRowsProps) {
  if (multiple) {
    return (
      <div class="cards" role="group" aria-label={label}>
        {options.map((option) => (
          <label key={option.id} class="choice">
            <input
              type="checkbox"
              name={id}
              checked={marked.includes(option.id)}
              onChange={(event) =>
                onChange(
                  event.currentTarget.checked
                    ? [...marked, option.id]
                    : marked.filter((one) => one !== option.id),
                )
              }
            />
            <span class="choice-label" dir="auto">{option.label}</span>
          </label>
        ))}
      </div>
    );
  }
  return (
    <ul class="cards">
      {options.map((option) => (
        <li key={option.id}>
          <button
            type="button"
            class="choice"
            aria-pressed={marked.includes(option.id)}
            onClick={() => onChange([option.id])}
          >
            <span class="choice-label" dir="auto">{option.label}</span>
            {marked.includes(option.id) && <Icon name="check" />}
          </button>
        </li>
      ))}
    </ul>
  );
}
