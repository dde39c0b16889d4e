import type { DisplayText } from "../../core";
import { t, translator } from "../../kit/language";

/** Formatting of answers in the person's language. */
export function words(): DisplayText {
  const { number, list, date, time, moment } = translator.value;
  return {
    yes: t("app.yes"),
    no: t("app.no"),
    none: t("app.none"),
    rating: (value, max, label) =>
      label === null ? t("rating.value", { value, max }) : t("rating.value_labelled", { value, max, label }),
    signedBy: (name) => t("signature.signed_by", { name }),
    number,
    list,
    date,
    time,
    moment,
  };
}
