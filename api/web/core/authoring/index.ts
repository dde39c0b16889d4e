/** Templates while they are written: pure functions on plain data. */

export * from "./changes";
export * from "./draft";
export * from "./edit";
export * from "./ids";
export * from "./json_places";
export * from "./line_difference";
export * from "./merge";
export * from "./operators";
export * from "./problems";
export * from "./prompt_pieces";
export * from "./shape";
export * from "./when";
