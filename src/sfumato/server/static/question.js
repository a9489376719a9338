// A question: what is picked or written, as address, as JSON, as SQL, and in words.
//
//   {mode: "pick", measure: {function: "count", of: ""}, where: Map(name -> condition), by: [name]}
//   {mode: "sql", sql: "SELECT ..."}
//
// A condition is {values: [..]} (null stands for unknown) or {from, to, unknown}; "" is no limit; that
// on a point is {circle: {x, y, radius}}.
// The address keeps the question behind "#", which browsers do not send to anybody.

import { kindOf, label, listed } from "./format.js";
import { called, valueWords } from "./words.js";

export const COUNT = { function: "count", of: "" };
export const MEASURES = { avg: "Average", sum: "Sum", min: "Smallest", max: "Largest" };

export const empty = () => ({ mode: "pick", measure: COUNT, where: new Map(), by: [] });

/** The address of a question to a database. */
export function toAddress(database, question) {
  const parts = new URLSearchParams({ db: database });
  if (question.mode === "sql") {
    parts.set("sql", question.sql);
    return `#${parts}`;
  }
  parts.set("of", [question.measure.function, question.measure.of].filter(Boolean).join(":"));
  for (const [name, condition] of question.where) {
    if (condition.circle) parts.set(`within.${name}`, circleParts(condition.circle).join(" "));
    for (const value of condition.values ?? []) {
      if (value === null) parts.append(`unknown.${name}`, "yes");
      else parts.append(`is.${name}`, String(value));
    }
    for (const end of ["from", "to"]) {
      if ((condition[end] ?? "") !== "") parts.append(`${end}.${name}`, String(condition[end]));
    }
    if (condition.unknown) parts.append(`unknown.${name}`, "yes");
  }
  for (const name of question.by) parts.append("by", name);
  return `#${parts}`;
}

export const databaseOf = (address) => new URLSearchParams(address.replace(/^#/, "")).get("db");

/** The question of an address, null if it holds none; throws if this database cannot have it. */
export function fromAddress(address, attributes) {
  const parts = new URLSearchParams(address.replace(/^#/, ""));
  if (parts.has("sql")) return { mode: "sql", sql: parts.get("sql") };
  if (!parts.has("of")) return null;
  const [name, ...of] = parts.get("of").split(":");
  const question = { ...empty(), measure: { function: name, of: of.join(":") } };
  if (question.measure.of) known(question.measure.of, attributes);
  question.by = parts.getAll("by");
  question.by.forEach((one) => known(one, attributes));
  for (const [key, value] of parts) {
    const [, part, of] = /^(is|from|to|unknown|within)\.(.*)$/s.exec(key) ?? [];
    if (part) addPart(question, part, known(of, attributes), value);
  }
  // equal questions look equal, whatever was picked first
  const found = attributes.filter((one) => question.where.has(one.name));
  question.where = new Map(found.map((one) => [one.name, question.where.get(one.name)]));
  for (const one of found) question.where.get(one.name).values?.sort(inOrder(one));
  return question;
}

function known(name, attributes) {
  const found = attributes.find((one) => one.name === name);
  if (!found) throw new Error(`The address asks about “${name}”, which this database does not have.`);
  return found;
}

function addPart(question, part, attribute, text) {
  if (part === "within" || attribute.kind === "point") return addCircle(question, attribute, text);
  const listed = attribute.kind !== "numerical";
  const start = listed ? { values: [] } : { from: "", to: "", unknown: false };
  const condition = question.where.get(attribute.name) ?? start;
  if (part === "is") condition.values?.push(valueOf(attribute, text));
  else if (part === "unknown" && listed) condition.values.push(null);
  else if (part === "unknown") condition.unknown = true;
  else condition[part] = typeof attribute.min === "number" ? Number(text) : text;
  question.where.set(attribute.name, condition);
  return undefined;
}

const circleParts = ({ x, y, radius }) => [x, y, radius];

function addCircle(question, { name, kind }, text) {
  const [x, y, radius, ...more] = text.split(" ").map(Number);
  const whole = kind === "point" && !more.length && [x, y, radius].every(Number.isFinite) && radius >= 0;
  if (!whole) throw new Error(`The address asks for a circle around “${name}” that is none.`);
  question.where.set(name, { circle: { x, y, radius } });
}

/** Values as the domain orders them, unknown last. */
function inOrder({ values = [] }) {
  const place = (value) => (value === null ? values.length : values.indexOf(value));
  return (a, b) => place(a) - place(b);
}

/** The value that a text stands for: the domain knows whether 1 is a number. */
function valueOf(attribute, text) {
  return attribute.values?.find((value) => String(value) === text) ?? text;
}

/** What the server is asked. */
export function toBody(question) {
  if (question.mode === "sql") return { sql: question.sql };
  const query = { where: {} };
  for (const [name, condition] of question.where) query.where[name] = predicate(condition);
  if (question.measure.function !== "count") query.select = [question.measure];
  if (question.by.length) query.by = question.by;
  return { query };
}

function predicate(condition) {
  if (condition.circle) return { within: circleParts(condition.circle) };
  if (condition.values) return condition.values.map(plain);
  const { from, to, unknown } = condition;
  const missing = { missing: true };
  if (from === "" && to === "") return missing;
  const range =
    from === "" ? { "<=": plain(to) } : to === "" ? { ">=": plain(from) } : { between: [plain(from), plain(to)] };
  return unknown ? { either: [range, missing] } : range;
}

const WRAPPED = { day: "date", moment: "datetime" };

function plain(value) {
  const kind = WRAPPED[kindOf(value)];
  return kind ? { [kind]: value } : value;
}

export function toSql(question) {
  if (question.mode === "sql") return question.sql;
  const { measure } = question;
  const names = question.by.map(quoted);
  const computed = `${measure.function.toUpperCase()}(${measure.of ? quoted(measure.of) : "*"})`;
  const conditions = [...question.where].map(([name, condition]) => sqlCondition(quoted(name), condition));
  let text = `SELECT ${[...names, computed].join(", ")}\nFROM t`;
  if (conditions.length) text += `\nWHERE ${conditions.join("\n  AND ")}`;
  return names.length ? `${text}\nGROUP BY ${names.join(", ")}` : text;
}

function sqlCondition(name, condition) {
  if (condition.circle) {
    const [x, y, radius] = circleParts(condition.circle);
    return `ST_DWithin(${name}, ST_Point(${x}, ${y}), ${radius})`;
  }
  const parts = condition.values ? sqlList(name, condition.values) : sqlRange(name, condition);
  return parts.length > 1 ? `(${parts.join(" OR ")})` : parts[0];
}

function sqlList(name, values) {
  const there = values.filter((value) => value !== null).map(literal);
  const parts = there.length > 1 ? [`${name} IN (${there.join(", ")})`] : there.map((one) => `${name} = ${one}`);
  return values.includes(null) ? [...parts, `${name} IS NULL`] : parts;
}

function sqlRange(name, { from, to, unknown }) {
  const parts = [];
  if (from !== "" && to !== "") parts.push(`${name} BETWEEN ${literal(from)} AND ${literal(to)}`);
  else if (from !== "") parts.push(`${name} >= ${literal(from)}`);
  else if (to !== "") parts.push(`${name} <= ${literal(to)}`);
  return unknown ? [...parts, `${name} IS NULL`] : parts;
}

function literal(value) {
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  const text = `'${String(value).replaceAll("'", "''")}'`;
  const word = { day: "DATE ", moment: "TIMESTAMP " }[kindOf(value)] ?? "";
  return word + text;
}

// names that SQL may take for something else stand in quotes; more than needed does no harm
const WORDS = new Set(
  `all and any as asc between by case cast check column count cross current date day default delete desc
   describe distinct div drop else end escape except exists extract false fetch filter for format from full
   function group having hour ilike in index inner insert intersect interval into is join key left like limit
   map max min minute mod month natural next not null offset on or order out outer over partition percent
   primary range rank replace right row rows second select set show some struct sum table then time timestamp
   to top true type union unique update use user using value values view when where window with year avg
   `.trim().split(/\s+/),
);

export function quoted(name) {
  const simple = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !WORDS.has(name.toLowerCase());
  return simple ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A condition in words, "30 to 50", "flu or cold"; of a long list, so many are named. */
export function conditionWords(condition, most = 3, name = "") {
  if (condition.values) {
    const words = condition.values.map((value) => (value === null ? "unknown" : valueWords(name, value)));
    return words.length > most ? `${words.slice(0, most - 1).join(", ")} or ${words.length - most + 1} more` : listed(words);
  }
  if (condition.circle) {
    const [x, y, radius] = circleParts(condition.circle).map(label);
    return `at most ${radius} away from (${x}, ${y})`;
  }
  const { from, to, unknown } = condition;
  const parts = [];
  if (from !== "" && to !== "") parts.push(from === to ? label(from) : `${label(from)} to ${label(to)}`);
  else if (from !== "") parts.push(`${label(from)} or more`);
  else if (to !== "") parts.push(`up to ${label(to)}`);
  if (unknown) parts.push("unknown");
  return parts.join(" or ");
}

/** A question in a few words, for the history. */
export function words(question) {
  if (question.mode === "sql") return question.sql.replace(/\s+/g, " ").trim();
  const { measure } = question;
  const what = measure.of ? `${MEASURES[measure.function] ?? measure.function} of ${called(measure.of)}` : "How many people";
  const whom = [...question.where].map(([name, condition]) => `${called(name)}: ${conditionWords(condition, 3, name)}`);
  const by = question.by.length ? [`by ${question.by.map(called).join(" and ")}`] : [];
  return [what, ...whom, ...by].join(" · ");
}

/** How many groups an answer has, from the sizes of the domains. */
export function groupCount(question, attributes) {
  return question.by.reduce((count, name) => {
    const attribute = attributes.find((one) => one.name === name);
    const condition = question.where.get(name);
    return count * (condition?.values ? condition.values.length : attribute.size);
  }, 1);
}
