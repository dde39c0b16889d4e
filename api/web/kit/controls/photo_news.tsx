import type { Intake, Refusal } from "../photos/intake";
import { t } from "../language";
import { Icon } from "./icon";
import { FieldError } from "./messages";

/** What becomes of the photos that came last: being made smaller, made smaller, or not taken and why. */
export function PhotoNews({ id, intake, max }: { id: string; intake: Intake; max: number }) {
  const { shrinking, madeSmaller, refusal } = intake;
  return (
    <>
      {/* Always there: what is put into a live region is read out, a live region that comes is not. */}
      <p class="hint photo-news" role="status">
        {(shrinking || madeSmaller > 0) && (
          <>
            <Icon name={shrinking ? "clock" : "info"} />
            <span>{shrinking ? t("photo.making_smaller") : t("photo.made_smaller", { count: madeSmaller })}</span>
          </>
        )}
      </p>
      {refusal !== null && <FieldError id={`${id}-wrong`}>{textOf(refusal, max)}</FieldError>}
    </>
  );
}

function textOf(refusal: Refusal, max: number): string {
  if (refusal === "too_many") return t("problem.photos_too_many", { count: max });
  if (refusal === "not_read") return t("problem.photo_not_read");
  return t(`photo.${refusal}`);
}
