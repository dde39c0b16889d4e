/** The core of the web apps: pure functions on plain data, with the same results as the service. */

export * from "./types";
export { geoProblems } from "./location";
export * from "./bounds";
export { flagGap, gapOf, hasValue, isAnswered, canSkip, evaluate, stepsOf, type Answers, type Evaluation } from "./conditions";
export { dateOf, daysBetween, localTimestamp, normalDate, normalDateTime, normalTime } from "./dates";
export { emailProblem, nameProblem } from "./identity";
export { readNumber, type ReadNumber } from "./number_input";
export { displayValue, expectedText, isFlagged, kindOf, onFlag, photoBounds, photosFor, takesAnswer, takesDrawing, validateValue } from "./step_types";
export { optionsOf } from "./step_types/choice";
export type { DisplayText, ExpectedFormat, Verdict } from "./step_types/kind";
export { ratingBounds } from "./step_types/number";
export { textLimit } from "./step_types/text";
export { canBeStored, hasVisibleText, lengthOf, strip } from "./text";
