/**
 * The command palette: Ctrl+K (Cmd+K) or the search button. A combobox with a list below it (WAI-ARIA APG); the dialog
 * traps the focus and returns it.
 */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import "./styles/palette.css";
import { Dialog } from "../kit/controls/dialog";
import { Icon } from "../kit/controls/icon";
import { ApiError, call } from "./client";
import { type Entry, type Found, groupsOf, LONGEST, RUNS_FOUND, SHORTEST } from "./palette_entries";
import { runStatusText } from "./parts/badge";
import { count, counted } from "./parts/progress";
import { navigate } from "./router";
import { may, organization } from "./session";

const TYPING_PAUSE_MS = 200;
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);

/** The search button of the bar, with the palette that it opens. */
export function PaletteButton() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      // Not above another dialog.
      if (document.querySelector("dialog[open]") === null) setOpen(true);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <>
      <button type="button" class="button palette-button" aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span class="palette-button-text">Search</span>
        <span class="palette-keys" data-keys={IS_MAC ? "⌘ K" : "Ctrl K"} />
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}

function Palette({ onClose }: { onClose(): void }) {
  const organizationId = organization.value?.id ?? "";
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const { found, error, busy } = useFound(organizationId, text.trim());
  const groups = groupsOf(text.trim(), found, may, runStatusText);
  const entries = groups.flatMap((group) => group.entries);
  const at = Math.min(chosen, entries.length - 1);
  useLayoutEffect(() => input.current?.focus(), []);
  useLayoutEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at, text]);
  const choose = (entry: Entry) => {
    onClose();
    // After the dialog has returned the focus, so that the new page's heading gets it.
    setTimeout(() => navigate(`${organizationId}/${entry.to}`));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && entries.length > 0) {
      event.preventDefault();
      setChosen((at + step + entries.length) % entries.length);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      const entry = entries[at];
      if (entry !== undefined) choose(entry);
    }
  };
  return (
    <Dialog title="Search" class="palette" onClose={onClose}>
      <input
        ref={input}
        class="input"
        type="text"
        role="combobox"
        aria-label="Search runs, templates and actions"
        aria-expanded={entries.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        maxLength={LONGEST}
        placeholder="Reference, person, template or id"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={`${id}-list`} class="palette-list" role="listbox" aria-label="Results">
        {groups.map((group) => (
          <div key={group.title} role="group" aria-labelledby={`${id}-${group.title}`}>
            <p class="palette-group small quiet" id={`${id}-${group.title}`} role="presentation">
              {group.title}
            </p>
            {group.entries.map((entry) => (
              <Option key={entry.key} id={`${id}-${entries.indexOf(entry)}`} entry={entry} chosen={entries[at] === entry} onChoose={() => choose(entry)} />
            ))}
          </div>
        ))}
      </div>
      <p class="palette-news small quiet" role="status">
        {error?.message ?? (busy ? "Searching …" : entries.length === 0 ? "Nothing found." : text.trim() === "" ? "" : `${counted(entries.length, "result")}${(found?.runs.length ?? 0) >= RUNS_FOUND ? `, of runs the newest ${RUNS_FOUND}` : ""}`)}
        {!busy && found !== null && !found.searched_all && ` Parts of a text are looked for in the newest ${count(found.searched)} runs.`}
      </p>
    </Dialog>
  );
}

function Option({ id, entry, chosen, onChoose }: { id: string; entry: Entry; chosen: boolean; onChoose(): void }) {
  return (
    <div id={id} class="palette-option" role="option" aria-selected={chosen} onClick={onChoose}>
      <Icon name={entry.icon} />
      <span class="palette-title" dir="auto">
        {entry.title}
      </span>
      {entry.note !== undefined && (
        <span class="palette-note small quiet" dir="auto">
          {entry.note}
        </span>
      )}
    </div>
  );
}

/** What the service finds, after a pause in typing; the last results stay while newer ones are loading. */
function useFound(organizationId: string, text: string): { found: Found | null; error: ApiError | null; busy: boolean } {
  const [state, setState] = useState<{ text: string; found: Found | null; error: ApiError | null }>({ text: "", found: null, error: null });
  const wanted = text.length >= SHORTEST;
  useEffect(() => {
    if (!wanted) return setState({ text, found: null, error: null });
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      call<Found>(`${organizationId}/search?q=${encodeURIComponent(text)}`, { signal: aborter.signal }).then(
        (found) => setState({ text, found, error: null }),
        (error: unknown) => {
          if (!aborter.signal.aborted) setState({ text, found: null, error: error instanceof ApiError ? error : new ApiError(0, "unexpected", String(error)) });
        },
      );
    }, TYPING_PAUSE_MS);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [organizationId, text]);
  return { found: wanted ? state.found : null, error: state.error, busy: wanted && state.text !== text };
}
