import { english } from "./en";
import type { Messages } from "./messages";

export const spanish: Messages = english;
