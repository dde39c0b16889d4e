import type { Intake, Refusal } from "../photos/intake";
import { t } from "../language";
import { Icon } from "./icon";
import { FieldError } from "./messages";

/** The status of the photos added last: resizing, resized, or rejected with the reason. */
export function PhotoNews({ id, intake, max }: { id: string; intake: Intake; max: number }) {
  const { shrinking, madeSmaller, refusal } = intake;
  return (
    <>
      {/* Always rendered: screen readers announce changes of a live region, not a new one. */}
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
