import { english } from "./en";
import type { Messages } from "./messages";

export const german: Messages = english;
