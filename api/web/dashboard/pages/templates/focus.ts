const FRAMES_TO_APPEAR = 30;

/** Focuses the element with this id as soon as it exists. */
export function focusSoon(id: string, frames = FRAMES_TO_APPEAR): void {
  requestAnimationFrame(() => {
    const element = document.getElementById(id);
    if (element === null) {
      if (frames > 0) focusSoon(id, frames - 1);
      return;
    }
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest", behavior: "instant" });
  });
}

/** Ids of focus targets in the editor; the steps' own ids are used by the preview. */
export const rowId = (stepId: string) => `row-${stepId}`;
export const labelId = (stepId: string) => `label-${stepId}`;
export const whenId = (stepId: string) => `when-${stepId}`;
export const titleId = (sectionId: string) => `title-${sectionId}`;
