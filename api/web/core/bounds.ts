/** Bounds that Python has under the same names; `tests/unit/repository/test_bounds.py` compares them. */

/** Maximum lengths, in characters: `executor/models.py` of the API, and `resources/run.py` (MAX_NOTE). */

export const MAX_NAME = 200;
export const MAX_EMAIL = 254;
export const MAX_REASON = 500;
export const MAX_NOTE = 2_000;

/** `crds/checklist_crds/step_types/photo_bounds.py` */
export const MAX_PHOTOS_PER_STEP = 20;

/** `crds/checklist_crds/resources/run.py` */
export const MAX_EXPIRY_HOURS = 8_760;
