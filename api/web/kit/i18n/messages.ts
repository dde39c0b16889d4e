/**
 * Types of a catalogue: one text per key, or one text per plural form. `{name}` is a parameter; `{count}` is the number
 * that chooses the plural form. English defines the keys and their parameters; all other languages must have the same
 * keys (checked by the compiler) and parameters (checked by a test).
 */

import type { english } from "./en";

export type PluralForms = Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string };
export type Message = string | PluralForms;

type English = typeof english;
export type MessageKey = keyof English;

/** The catalogue of any language. */
export type Messages = { readonly [Key in MessageKey]: English[Key] extends string ? string : PluralForms };

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type TextsOf<Value> = Value extends string ? Value : Value extends PluralForms ? Value[keyof Value] & string : never;

type ParameterNames<Key extends MessageKey> =
  | NamesIn<TextsOf<English[Key]>>
  | (English[Key] extends string ? never : "count");

/** The parameters of a key: `count` is a number; the others are texts, or numbers that are formatted. */
export type Parameters<Key extends MessageKey> = {
  readonly [Name in ParameterNames<Key>]: Name extends "count" ? number : string | number;
};

/** Keys without parameters, which can be computed at run time. */
export type PlainKey = { [Key in MessageKey]: [ParameterNames<Key>] extends [never] ? Key : never }[MessageKey];
