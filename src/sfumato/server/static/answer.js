// What comes back, shown: a sentence, a bar, a chart, a table; or what went wrong.

import { token } from "./api.js";
import { columnsChart, intervalBar, onLine, rowsChart } from "./charts.js";
import { copyText, download, make } from "./dom.js";
import { about, endsOf, isExact, label, listed, number, percent, sentence } from "./format.js";
import { MEASURES, conditionWords } from "./question.js";
import { asCsv, asCurl, asPython } from "./sharing.js";

const SHOWN_ROWS = 40; // of a chart or a table, before "show all"

/** An answer, ready to be put on the page. */
export function shownAnswer(answer, question, { database, schema, sql }) {
  const grouped = answer.by.length > 0;
  const charts = grouped ? chartParts : singleParts;
  return [
    make("p", { class: "sentence" }, emphasized(sentenceOf(answer, question), answer)),
    ...answer.aggregates.flatMap((name) => charts(answer, name, schema)),
    legend(answer, schema),
    actions(answer, database, sql),
    ...(grouped ? [groupTable(answer)] : []),
    facts(answer),
  ];
}

/** The answer in one sentence of plain words. */
export function sentenceOf(answer, question) {
  if (answer.sentence) return question.mode === "pick" ? pickedSentence(answer, question) : answer.sentence;
  if (answer.by.length) {
    const count = answer.rows.length;
    const each = answer.by.length > 1 ? "combination of" : "value of";
    return `${number(count)} ${count === 1 ? "answer" : "answers"}, one for each ${each} ${listed(answer.by, "and")}.`;
  }
  return answer.aggregates.map((name) => single(name, answer.rows[0].answers[name])).join(" ");
}

/** "Between 527 and 1,001 people with age 30 to 50 and sex female." */
function pickedSentence(answer, question) {
  const one = answer.rows[0].answers[answer.aggregates[0]];
  const ends = endsOf(one);
  const count = isExact(one) ? `Exactly ${ends[0]}` : `Between ${ends[0]} and ${ends[1]}`;
  const whom = [...question.where].map(([name, condition]) => `${name} ${conditionWords(condition, 12)}`);
  return `${count} people${whom.length ? ` with ${listed(whom, "and")}` : " are in the data"}.`;
}

function single(name, one) {
  if (one.lo === null) return `${aggregateWords(name)}: nobody can qualify.`;
  const perhaps = one.nullable ? " It may also be that nobody qualifies at all." : "";
  const ends = endsOf(one);
  if (isExact(one)) return `${aggregateWords(name)} is exactly ${ends[0]}.${perhaps}`;
  return `${aggregateWords(name)} is between ${ends[0]} and ${ends[1]}.${perhaps}`;
}

/** "avg_salary" is "The average of salary"; names of one's own stay. */
function aggregateWords(name) {
  const [, part, of] = /^(avg|sum|min|max)_(.+)$/.exec(name) ?? [];
  if (part) return `The ${MEASURES[part].toLowerCase()} ${part === "sum" || part === "avg" ? "of " : ""}${of}`;
  return name === "count" ? "The number of people" : name;
}

/** The numbers of a sentence stand out. */
function emphasized(sentence, answer) {
  if (answer.by.length) return sentence;
  const wanted = answer.aggregates
    .map((name) => answer.rows[0].answers[name])
    .flatMap((one) => (one.lo === null ? [] : endsOf(one)));
  const parts = [];
  let rest = sentence;
  for (const figure of wanted) {
    const at = rest.indexOf(figure);
    if (at < 0) continue;
    parts.push(rest.slice(0, at), make("strong", { text: figure }));
    rest = rest.slice(at + figure.length);
  }
  return [...parts, rest];
}

function singleParts(answer, name, schema) {
  const one = answer.rows[0].answers[name];
  if (one.lo === null) return [];
  const title = answer.aggregates.length > 1 ? [make("h3", { text: aggregateWords(name) })] : [];
  const share = name === "count" && schema.rows
    ? [make("p", { class: "soft share", text: shareWords(one, schema.rows) })] : [];
  return [...title, intervalBar(one, aggregateWords(name)), ...share];
}

function shareWords(one, rows) {
  const all = `all ${number(rows)} people in the data`;
  const [least, most] = [percent(one.lo / rows), percent(one.hi / rows)];
  return least === most ? `That is ${least} of ${all}.` : `That is between ${least} and ${most} of ${all}.`;
}

// ----- groups

function chartParts(answer, name) {
  const rows = answer.rows.map((row) => ({ keys: answer.by.map((one) => row.key[one]), answer: row.answers[name] }));
  const title = make("h3", { text: `${aggregateWords(name)}, by ${answer.by.join(" and ")}` });
  if (onLine(rows, answer.by)) {
    const placed = rows.filter((row) => row.keys[0] !== null);
    const others = rows.filter((row) => row.keys[0] === null && row.answer.lo !== null);
    return [
      title,
      columnsChart(placed, aggregateWords(name), answer.by[0]),
      ...others.map((row) => make("p", { class: "soft small", text: `Where ${answer.by[0]} is unknown: ${endsOf(row.answer).join(" to ")}.` })),
    ];
  }
  const place = make("div");
  let [all, sorted] = [false, false];
  const draw = () => {
    const ordered = sorted ? largestFirst(rows) : rows;
    place.replaceChildren(rowsChart(all ? ordered : ordered.slice(0, SHOWN_ROWS), aggregateWords(name)), ...more());
  };
  const more = () => (all || rows.length <= SHOWN_ROWS ? [] : [moreButton(rows.length, () => { all = true; draw(); })]);
  const order = make("label", { class: "order" },
    make("input", { type: "checkbox", onchange: (event) => { sorted = event.target.checked; draw(); } }),
    make("span", { text: "largest first" }));
  draw();
  return [make("div", { class: "heading-row" }, title, rows.length > 2 ? order : null), place];
}

/** Inside the groups of the first keys, which stay together. */
function largestFirst(rows) {
  const size = (row) => (typeof row.answer.estimate === "number" ? row.answer.estimate : Date.parse(row.answer.estimate ?? "") || 0);
  const outer = (row) => JSON.stringify(row.keys.slice(0, -1));
  const places = new Map();
  for (const row of rows) if (!places.has(outer(row))) places.set(outer(row), places.size);
  return [...rows].sort((a, b) => places.get(outer(a)) - places.get(outer(b)) || size(b) - size(a));
}

const moreButton = (count, onclick) =>
  make("button", { type: "button", class: "plain more", text: `Show all ${number(count)}`, onclick });

function groupTable(answer) {
  const several = answer.aggregates.length > 1;
  const head = answer.aggregates.flatMap((name) => {
    const of = several ? `${name}: ` : "";
    return [`${of}at least`, `${of}at most`, `${of}estimate`];
  });
  const body = make("tbody");
  const place = make("div");
  const show = (count) => body.replaceChildren(...answer.rows.slice(0, count).map((row) => tableRow(answer, row)));
  show(SHOWN_ROWS);
  if (answer.rows.length > SHOWN_ROWS) {
    place.append(moreButton(answer.rows.length, () => { show(answer.rows.length); place.remove(); }));
  }
  const columns = [
    ...answer.by.map((name) => make("th", { scope: "col", text: name })),
    ...head.map((words) => make("th", { scope: "col", class: words.endsWith("estimate") ? "n soft" : "n", text: words })),
  ];
  return make("details", { class: "table", open: answer.rows.length <= SHOWN_ROWS },
    make("summary", { text: `Table of ${number(answer.rows.length)} answers` }),
    make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of answers" },
      make("table", {}, make("thead", {}, make("tr", {}, columns)), body)), place);
}

function tableRow(answer, row) {
  const keys = answer.by.map((name) => make("th", { scope: "row", text: label(row.key[name]) }));
  const cells = answer.aggregates.flatMap((name) => {
    const one = row.answers[name];
    if (one.lo === null) return ["–", "–", "–"].map((text) => make("td", { class: "n soft", text }));
    return [
      make("td", { class: "n", text: endsOf(one)[0] }),
      make("td", { class: "n", text: endsOf(one).at(-1) }),
      make("td", { class: "n soft", text: isExact(one) ? "exact" : `≈ ${about(one)}` }),
    ];
  });
  return make("tr", {}, keys, cells);
}

// ----- below the answer

function legend(answer, schema) {
  const all = answer.rows.flatMap((row) => Object.values(row.answers)).filter((one) => one.lo !== null);
  const open = all.some((one) => !isExact(one));
  const closed = all.some(isExact);
  const hidden = schema.attributes.filter((one) => one.role === "sensitive").map((one) => one.name);
  const untouched = !hidden.some((name) => answer.canonical.includes(name));
  const why = untouched && schema.framework === "anatomy" ? `: the question leaves out ${listed(hidden)}, and nothing else is protected here` : "";
  return make("ul", { class: "legend" },
    open ? make("li", {}, make("i", { class: "key-range" }), "The true number is surely in this range.") : null,
    open ? make("li", {}, make("i", { class: "key-estimate" }), "An estimate: a good guess, without any guarantee.") : null,
    closed ? make("li", {}, make("i", { class: "key-exact" }), `Exact${why}.`) : null);
}

function actions(answer, database, sql) {
  const copies = [
    ["Copy link", () => location.href],
    ["SQL", () => sql],
    ["curl", () => asCurl(sql, database, Boolean(token.get()))],
    ["Python", () => asPython(sql, database, Boolean(token.get()))],
  ];
  return make("div", { class: "actions share-actions", role: "group", "aria-label": "Use this answer elsewhere" },
    copies.map(([words, text]) =>
      make("button", {
        type: "button", class: "plain", text: words, "aria-label": words === "Copy link" ? null : `Copy as ${words}`,
        onclick: (event) => copyText(text(), event.currentTarget),
      })),
    make("button", {
      type: "button", class: "plain", text: "Download CSV",
      onclick: () => download(`${database}.csv`, asCsv(answer), "text/csv;charset=utf-8"),
    }));
}

function facts(answer) {
  const told = [
    ["The question, as it was understood", make("code", { text: answer.canonical })],
    ["Number of this answer in the ledger", make("code", { text: answer.request_id })],
    ["State of the data", `generation ${answer.generation}`],
  ];
  return make("details", { class: "small" }, make("summary", { text: "About this answer" }),
    answer.guarantee ? make("p", { text: answer.guarantee }) : null,
    make("dl", {}, told.flatMap(([name, fact]) => [make("dt", { text: name }), make("dd", {}, fact)])));
}

// ----- before, instead, and meanwhile

export function welcome(schema, examples, choose) {
  const hidden = schema.attributes.filter((one) => one.role === "sensitive").map((one) => one.name);
  return [
    make("p", { class: "sentence", text: "Ask how many people …" }),
    make("p", { text: `Pick attributes, or write SQL, and ask as much as you like. Where ${listed(hidden)} comes in, which is `
      + "protected, you get an interval that surely contains the true number, instead of the number itself." }),
    make("p", { class: "soft", text: "For example:" }),
    make("ul", { class: "examples" }, examples.map((example) =>
      make("li", {}, make("button", { type: "button", class: "plain", text: example.words, onclick: () => choose(example.question) })))),
  ];
}

export function waiting() {
  return [make("div", { class: "waiting" }, make("span", { class: "pulse" }), make("p", { class: "soft", text: "Asking …" }))];
}

/** What went wrong, the place in the SQL, and what to do. */
export function shownTrouble(trouble, question, again) {
  // hints to a refusal are about SQL
  const hint = question?.mode !== "sql" && trouble.code === "query_refused" ? "" : trouble.hint;
  const marked = question?.mode === "sql" && trouble.position ? [markedSql(question.sql, trouble.position)] : [];
  const temporary = trouble.status === 0 || trouble.status === 429 || trouble.status >= 500;
  return make("div", { class: "trouble", role: "alert" },
    make("p", { class: "trouble-title", text: TITLES[trouble.code] ?? "This did not work" }),
    make("p", { text: sentence(trouble.message) }),
    marked,
    hint ? make("p", { class: "hint", text: sentence(hint) }) : null,
    temporary && again ? make("button", { type: "button", class: "plain", text: waitWords(trouble.wait), onclick: again }) : null,
    trouble.requestId ? make("p", { class: "soft small" }, "Number of this request: ", make("code", { text: trouble.requestId })) : null);
}

const TITLES = {
  query_refused: "This question cannot be answered",
  invalid_request: "This question cannot be read",
  rate_limited: "Too many questions in a short time",
  busy: "Many people are asking",
  timeout: "This took too long",
  ledger_unavailable: "The database does not answer at the moment",
  unknown_database: "There is no such database",
  forbidden: "Your token does not allow this",
  unreachable: "No connection",
};

const waitWords = (wait) => (wait ? `Try again (the server asks for ${Math.ceil(wait)} s of patience)` : "Try again");

function markedSql(sql, position) {
  const letters = Array.from(sql); // positions count characters, not UTF-16 units
  const before = letters.slice(0, position - 1).join("");
  const rest = letters.slice(position - 1).join("");
  const word = /^(\w+|'[^']*'?|"[^"]*"?|\s*\S)/u.exec(rest)?.[0] ?? "";
  return make("pre", { class: "marked", "aria-label": `Your SQL, marked at position ${position}` },
    before, make("mark", { text: word || " " }), rest.slice(word.length));
}
