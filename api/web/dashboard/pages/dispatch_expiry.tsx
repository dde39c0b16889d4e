/** The expiry of the link: never, a preset, or a number of hours. Shows the resulting time. */
import { useState } from "preact/hooks";

import { MAX_EXPIRY_HOURS } from "../../core/bounds";
import { now } from "../clock";
import { SelectField, TextField } from "../parts/fields";
import { localTime } from "../parts/time";

const SPANS = [
  { value: "", title: "Never" },
  { value: "1", title: "In 1 hour" },
  { value: "4", title: "In 4 hours" },
  { value: "8", title: "In 8 hours" },
  { value: "24", title: "In 24 hours" },
  { value: "72", title: "In 3 days" },
  { value: "168", title: "In 7 days" },
  { value: "720", title: "In 30 days" },
  { value: "other", title: "Custom …" },
];

interface ExpiryProps {
  hours: string;
  error: string | undefined;
  onChange(hours: string): void;
}

export function Expiry({ hours, error, onChange }: ExpiryProps) {
  const [own, setOwn] = useState(!SPANS.some((span) => span.value === hours));
  const choose = (value: string) => {
    setOwn(value === "other");
    onChange(value === "other" ? "12" : value);
  };
  const length = Number(hours);
  const moment = hours !== "" && length > 0 && length <= MAX_EXPIRY_HOURS ? localTime(new Date(now.value + length * 3_600_000).toISOString()) : null;
  return (
    <div class="expiry">
      <SelectField name="expiry" label="The link expires" options={SPANS} value={own ? "other" : hours} error={own ? undefined : error} onChange={choose} />
      {own && <TextField name="expires_in_hours" label="Hours" type="number" min={0} max={MAX_EXPIRY_HOURS} step="any" value={hours} error={error} onInput={(text) => onChange(text === "" ? "0" : text)} />}
      <p class="quiet expiry-moment" role="status">
        {moment !== null ? `Works until ${moment}` : hours === "" ? "Works until the run is completed or cancelled" : ""}
      </p>
    </div>
  );
}
