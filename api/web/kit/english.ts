/** Imported for its effect: English as the only language, for the dashboard and for tests of components. */
import { english } from "./i18n/en";
import { useEnglish } from "./language";

useEnglish(english);
