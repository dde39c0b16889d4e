/**
 * What a catalogue is made of: one text a key, or one text a plural form. `{name}` stands for a parameter; `{count}` is
 * the number that chooses the plural form. English defines the keys and their parameters; every other language must
 * have the same keys (the compiler says so) with the same parameters (a test says so).
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

/** What a key needs: `count` is a number; the others are texts, or numbers that are written the person's way. */
export type Parameters<Key extends MessageKey> = {
  readonly [Name in ParameterNames<Key>]: Name extends "count" ? number : string | number;
};

/** Keys that need no parameters: they can be looked up by a name made at run time. */
export type PlainKey = { [Key in MessageKey]: [ParameterNames<Key>] extends [never] ? Key : never }[MessageKey];
