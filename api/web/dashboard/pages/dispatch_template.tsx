/** Chooses one template of many: search, then one of the best matches. */
import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";

import { FieldError } from "../../kit/controls/messages";
import { CommandToCopy } from "../parts/copy";
import { TextField } from "../parts/fields";
import { Link } from "../parts/link";
import { BASE } from "../router";
import { may } from "../session";
import type { TemplateName } from "./runs_templates";

const SHOWN = 8;

interface ChoiceProps {
  templates: readonly TemplateName[];
  value: string;
  error: string | undefined;
  organizationId: string;
  onChange(id: string): void;
}

export function TemplateChoice({ templates, value, error, organizationId, onChange }: ChoiceProps) {
  const [open, setOpen] = useState(value === "");
  const [search, setSearch] = useState("");
  const id = useId();
  const whole = useRef<HTMLFieldSetElement>(null);
  const chosen = templates.find((one) => one.id === value);
  const wrong = error && <FieldError id={`${id}-error`}>{error}</FieldError>;
  if (templates.length === 0) return <NoTemplates organizationId={organizationId} wrong={wrong} />;
  if (chosen !== undefined && !open) {
    return (
      <div class="chosen-template">
        <div>
          <p>
            <strong dir="auto">{chosen.name}</strong> <span class="quiet small">version {chosen.v}</span>
          </p>
          {chosen.description !== "" && (
            <p class="quiet small clamped" dir="auto">
              {chosen.description}
            </p>
          )}
          {wrong}
        </div>
        <button
          type="button"
          class="button"
          aria-invalid={Boolean(error)}
          aria-describedby={error ? `${id}-error` : undefined}
          onClick={() => {
            setOpen(true);
            requestAnimationFrame(() => whole.current?.querySelector("input")?.focus());
          }}
        >
          Choose another
        </button>
      </div>
    );
  }
  const wanted = search.trim().toLowerCase().split(/\s+/);
  const matches = templates.filter((one) => wanted.every((word) => `${one.name} ${one.tags.join(" ")} ${one.description} ${one.id}`.toLowerCase().includes(word)));
  const shown = matches.slice(0, SHOWN);
  return (
    <fieldset ref={whole} class="field template-choice" aria-describedby={error ? `${id}-error` : undefined}>
      <legend class="vh">Template</legend>
      {/* Above the options: below them it would be out of sight. */}
      {wrong}
      {templates.length > SHOWN && <TextField name="search" type="search" label="Search by name, tag or description" value={search} autocomplete="off" onInput={setSearch} />}
      {shown.map((one) => (
        <label key={one.id} class="radio">
          <input type="radio" name="template" value={one.id} checked={one.id === value} aria-invalid={Boolean(error)} onChange={() => onChange(one.id)} />
          <span>
            <span class="radio-title" dir="auto">
              {one.name}
            </span>
            {one.description !== "" && (
              <span class="hint clamped" dir="auto">
                {one.description}
              </span>
            )}
          </span>
        </label>
      ))}
      <p class="quiet small" role="status">
        {matches.length === 0 ? "No template matches." : matches.length > SHOWN ? `${matches.length - SHOWN} more: type more of the name.` : ""}
      </p>
    </fieldset>
  );
}

function NoTemplates({ organizationId, wrong }: { organizationId: string; wrong: ComponentChildren }) {
  const command = [
    `curl -X POST ${new URL("../v1/templates", BASE).href} \\`,
    '  -H "Authorization: Bearer $CHECKLISTS_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"name": "Opening check", "sections": [{"id": "g-1", "title": "Kitchen", "steps": [{"id": "s-1", "type": "boolean", "label": "Is the floor clean?"}]}]}'`,
  ].join("\n");
  return (
    <div class="prose-block">
      {wrong}
      <p>
        No templates yet, and a run needs one. {may("editor") && <Link to={`${organizationId}/templates`}>Create the first template</Link>}, or do it from your own program:
      </p>
      <CommandToCopy command={command} />
    </div>
  );
}
