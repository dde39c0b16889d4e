import { t } from "../language";
import type { NoPlace, Place } from "./geolocation";
import { Icon } from "./icon";
import { FieldError } from "./messages";

export type PlaceState = "idle" | "finding" | NoPlace;

interface LocationProps {
  id: string;
  labelledBy: string;
  value: Place | null;
  state: PlaceState;
  required: boolean;
  disabled?: boolean;
  onAsk(): void;
}

/** The reason for the request, its result, and a button. The permission prompt appears only on use. */
export function LocationControl({ id, labelledBy, value, state, required, disabled, onAsk }: LocationProps) {
  return (
    <div class="location" role="group" aria-labelledby={labelledBy} aria-describedby={`${id}-text`}>
      <div class="location-row">
        {state === "finding" ? <span class="spinner" aria-hidden="true" /> : <Icon name={value ? "check-circle" : "pin"} />}
        <div id={`${id}-text`} class="location-text" role="status">
          <Status {...{ value, state, required }} />
        </div>
        {state !== "unsupported" && (
          <button type="button" id={id} class="button" disabled={disabled || state === "finding"} onClick={onAsk}>
            {t(value ? "geo.update" : state === "idle" || state === "finding" ? "geo.add" : "app.try_again")}
          </button>
        )}
      </div>
      {state === "denied" && required && value === null && (
        <FieldError id={`${id}-error`}>{t("geo.denied_required")}</FieldError>
      )}
    </div>
  );
}

function Status({ value, state, required }: Pick<LocationProps, "value" | "state" | "required">) {
  if (state === "finding") return <p>{t("geo.finding")}</p>;
  if (value !== null) {
    return (
      <>
        <p class="location-good">{t("geo.added")}</p>
        {value.accuracy_m !== null && <p class="quiet small">{t("geo.accuracy", { metres: Math.ceil(value.accuracy_m) })}</p>}
      </>
    );
  }
  if (state === "denied" && !required) return <p>{t("geo.denied")}</p>;
  if (state === "unavailable") return <p>{t("geo.unavailable")}</p>;
  if (state === "unsupported") return <p>{t("geo.unsupported")}</p>;
  return <p>{t(required ? "geo.why_required" : "geo.why")}</p>;
}
