/** The words with which `displayValue` of the core writes an answer in the person's language. */

import type { DisplayWords } from "../../core/display";
import type { Translator } from "./translator";

export function displayWords({ t, number, list, date, time, moment }: Translator): DisplayWords {
  return {
    yes: t("app.yes"),
    no: t("app.no"),
    none: t("app.none"),
    number,
    rating: (value, max, label) =>
      label === null ? t("rating.value", { value, max }) : t("rating.value_labelled", { value, max, label }),
    list,
    date,
    time,
    moment,
    signedBy: (name) => t("signature.signed_by", { name }),
  };
}
