/** Editing of templates: pure functions on plain data. */

export * from "./changes";
export * from "./draft";
export * from "./edit";
export * from "./ids";
export * from "./json_places";
export * from "./line_difference";
export * from "./merge";
export * from "./problems";
export * from "./prompt_pieces";
export * from "./shape";
export * from "./when";
export { AUTHORING } from "../step_types";
export type { ConfigField } from "../step_types/kind";
