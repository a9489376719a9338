// What the owner calls columns and values; where nothing is said, they are called by themselves.

import { isolated, label } from "./format.js";

let known = new Map();

/** Take over the words of a database. */
export function learn(attributes) {
  known = new Map(attributes.map((one) => [one.name, one]));
}

export const called = (name) => isolated(known.get(name)?.label ?? name);

/** A value as people know it. */
export const valueWords = (name, value) => label(keyWords(name, value));

/** The same, but a value without a name of its own stays what it is: a number has a place on a line. */
export function keyWords(name, value) {
  const names = known.get(name)?.names;
  return value !== null && names && Object.hasOwn(names, String(value)) ? names[String(value)] : value;
}
