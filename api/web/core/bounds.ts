/** Maximum lengths of personal data, in characters. */

export const MAX_NAME = 200;
export const MAX_EMAIL = 254;
export const MAX_REASON = 500;
export const MAX_NOTE = 2_000;
