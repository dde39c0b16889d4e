import { t, translator } from "../language";
import type { NoPlace, Place } from "./geolocation";
import { Icon } from "./icon";
import { FieldError } from "./messages";

export type PlaceState = "idle" | "finding" | NoPlace;

/** A location beyond this is shown as a rough one: it does not tell one house from another. */
const ROUGH_M = 100;

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
        {state === "finding" ? <span class="spinner" aria-hidden="true" /> : <Icon name={value === null ? "pin" : isRough(value) ? "alert" : "check-circle"} />}
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

function isRough({ accuracy_m }: Place): boolean {
  return accuracy_m !== null && accuracy_m > ROUGH_M;
}

function accuracyText(metres: number): string {
  return metres < 1_000 ? t("geo.accuracy", { metres: Math.ceil(metres) }) : t("geo.accuracy_km", { km: translator.value.number(metres / 1_000, 1) });
}

function Status({ value, state, required }: Pick<LocationProps, "value" | "state" | "required">) {
  if (state === "finding") return <p>{t("geo.finding")}</p>;
  if (value !== null) {
    return (
      <>
        <p class={isRough(value) ? "location-rough" : "location-good"}>{t(isRough(value) ? "geo.rough" : "geo.added")}</p>
        {value.accuracy_m !== null && <p class="quiet small">{accuracyText(value.accuracy_m)}</p>}
        {isRough(value) && <p class="quiet small">{t("geo.rough_text")}</p>}
      </>
    );
  }
  if (state === "denied" && !required) return <p>{t("geo.denied")}</p>;
  if (state === "unavailable") return <p>{t("geo.unavailable")}</p>;
  if (state === "unsupported") return <p>{t("geo.unsupported")}</p>;
  return <p>{t(required ? "geo.why_required" : "geo.why")}</p>;
}
