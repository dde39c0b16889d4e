import { useEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../../kit/controls/icon";

const COPIED_MS = 3_000;

interface CopyButtonProps {
  text: string;
  /** What is copied, for screen readers: "Copy the key". */
  label: string;
  /** Shows the label next to the icon. */
  labelled?: boolean;
}

export function CopyButton({ text, label, labelled = false }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<"" | "Copied" | "Not copied">("");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onClick = async () => {
    setOutcome((await copy(text)) ? "Copied" : "Not copied");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setOutcome(""), COPIED_MS);
  };
  const icon = outcome === "Copied" ? "check" : outcome === "" ? "copy" : "alert";
  return (
    <span class="copy">
      <button type="button" class={labelled ? "button" : "button button-quiet button-icon"} aria-label={labelled ? undefined : label} title={labelled ? undefined : label} onClick={() => void onClick()}>
        <Icon name={icon} />
        {labelled && <span>{outcome === "" ? label : outcome}</span>}
      </button>
      <span class="vh" role="status">
        {outcome}
      </span>
    </span>
  );
}

interface CommandProps {
  /** Shown and copied unchanged; may have several lines. */
  command: string;
  label?: string;
}

/** A command or value on its own line, with a copy button. */
export function CommandToCopy({ command, label = "Copy the command" }: CommandProps) {
  return (
    <div class="command">
      <pre tabIndex={0} role="group" aria-label={label.replace(/^Copy /, "").replace(/^./, (first) => first.toUpperCase())}>
        <code>{command}</code>
      </pre>
      <CopyButton text={command} label={label} />
    </div>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Without HTTPS, browsers have no other clipboard API. */
function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "vh";
  const before = document.activeElement;
  // Elements outside an open modal dialog cannot be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return done;
}
