/** The webhook: URL, secret and events. */
import { FieldError } from "../../kit/controls/messages";
import type { ApiError } from "../client";
import { CopyButton } from "../parts/copy";
import { CheckField, problemOf, RadioField, TextField } from "../parts/fields";
import { EVENTS } from "./deliveries_text";
import type { Draft } from "./dispatch";

const SECRET_BYTES = 32;

interface WebhookProps {
  draft: Draft;
  error: ApiError | null;
  onChange(parts: Partial<Draft>): void;
}

export function WebhookFields({ draft, error, onChange }: WebhookProps) {
  const ofEvents = problemOf(error, "webhook.events");
  const toggle = (event: string, on: boolean) => onChange({ events: EVENTS.map((one) => one.value).filter((one) => (one === event ? on : draft.events.includes(one))) });
  return (
    <div class="webhook">
      <TextField
        name="url"
        label="Address"
        type="url"
        placeholder="https://hooks.example.com/checklists"
        hint="Must accept POST requests over HTTPS and answer with 2xx within 10 seconds."
        value={draft.url}
        autocomplete="off"
        spellcheck={false}
        error={problemOf(error, "webhook.url")}
        onInput={(url) => onChange({ url })}
      />
      <div class="secret">
        <TextField
          name="secret"
          label="Secret"
          hint="At least 16 characters. Your server verifies signatures with it. It is not shown again."
          value={draft.secret}
          autocomplete="off"
          spellcheck={false}
          error={problemOf(error, "webhook.secret")}
          onInput={(secret) => onChange({ secret })}
        />
        <div class="actions">
          <button type="button" class="button" onClick={() => onChange({ secret: newSecret() })}>
            Generate
          </button>
          {draft.secret !== "" && <CopyButton text={draft.secret} label="Copy the secret" labelled />}
        </div>
      </div>
      <RadioField
        name="which_events"
        label="Events"
        value={draft.allEvents ? "all" : "some"}
        options={[
          { value: "all", title: "All events", means: "Including those added in later versions." },
          { value: "some", title: "Selected events", means: "Without step.completed there are far fewer." },
        ]}
        onChange={(value) => onChange({ allEvents: value === "all" })}
      />
      {!draft.allEvents && (
        <fieldset class="field event-choice" aria-invalid={Boolean(ofEvents)} aria-describedby={ofEvents ? "events-error" : undefined} tabIndex={-1}>
          <legend class="vh">Which events</legend>
          {EVENTS.map((one) => (
            <CheckField key={one.value} name="events" label={one.title} hint={one.means} checked={draft.events.includes(one.value)} onChange={(on) => toggle(one.value, on)} />
          ))}
          {ofEvents && <FieldError id="events-error">{ofEvents}</FieldError>}
        </fieldset>
      )}
    </div>
  );
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
