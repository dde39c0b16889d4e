/** Maximum lengths of personal data, in characters. */

export const MAX_NAME = 200;
export const MAX_EMAIL = 254;
export const MAX_REASON = 500;
export const MAX_NOTE = 2_000;

/** Also in `crds/checklist_crds/step_types/photo_bounds.py`. */
export const MAX_PHOTOS_PER_STEP = 20;
