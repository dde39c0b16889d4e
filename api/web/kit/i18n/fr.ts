import { english } from "./en";
import type { Messages } from "./messages";

export const french: Messages = english;
