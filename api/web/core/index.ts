/** The core of the web surfaces: pure functions on plain data, the same verdicts as the service's. */

export * from "./types";
export { geoProblems, validateValue, type Verdict } from "./answers";
export * from "./bounds";
export { gapOf, hasValue, isAnswered, standing, type Answers, type Standing } from "./conditions";
export { normalDate, normalDateTime, normalTime } from "./dates";
export { displayValue, type DisplayWords } from "./display";
export { emailProblem, nameProblem } from "./identity";
export { readNumber, type ReadNumber } from "./number_input";
export { canBeStored, hasVisibleText, lengthOf, strip } from "./text";
