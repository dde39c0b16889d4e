/** Most characters of what people say of themselves. */

export const MAX_NAME = 200;
export const MAX_EMAIL = 254;
export const MAX_REASON = 500;
