// What comes back, shown: a sentence, a chart, a table; or what went wrong.

import { token } from "./api.js";
import { columnsChart, intervalBar, onLine, rowsChart } from "./charts.js";
import { copyText, download, fill, make } from "./dom.js";
import { about, capital, endsOf, isExact, label, listed, number, numberOf, percent, sentence } from "./format.js";
import { asPng, asSvg } from "./pictures.js";
import { MEASURES } from "./question.js";
import { asShares, certain, isTooWide, orderWords } from "./ranking.js";
import { asCsv, asCurl, asPython, citation, fileName } from "./sharing.js";
import { called, keyWords, valueWords } from "./words.js";

const SHOWN_ROWS = 40; // of a chart or a table, before "show all"

/** An answer, ready to be put on the page. */
export function shownAnswer(answer, question, { database, schema, sql }) {
  const view = { even: false, shares: false };
  const body = make("div");
  // a share has no place of its own for an even spread
  const draw = () => fill(body, ...bodyParts(shownAs(answer, view), schema, { even: view.even && !view.shares }));
  const toggle = (name, words) => make("label", { class: "order" },
    make("input", { type: "checkbox", onchange: (event) => { view[name] = event.target.checked; draw(); } }),
    make("span", { text: words }));
  const counted = answer.by.length > 0 && answer.aggregates.join() === "count";
  const open = answer.rows.some((row) => Object.values(row.answers).some((one) => one.lo !== one.hi));
  draw();
  return [
    ...(answer.notes ?? []).map((note) => make("p", { class: "note", role: "status", text: sentence(note) })),
    body,
    make("div", { class: "views" },
      counted ? toggle("shares", answer.by.length > 1 ? `as shares of each ${answer.by.slice(0, -1).map(called).join(" and ")}` : "as shares") : null,
      open ? toggle("even", "show where it would be if values were spread evenly inside each group") : null),
    actions(answer, database, sql, schema, view),
    facts(answer),
    make("p", { class: "small printed", text: citation(sentenceOf(answer), answer, schema) }),
  ];
}

const shownAs = (answer, view) => (view.shares ? asShares(answer) : answer);

function bodyParts(answer, schema, view) {
  const charts = answer.by.length ? chartParts : singleParts;
  return [
    make("p", { class: "sentence" }, emphasized(sentenceOf(answer), answer)),
    ...wideWords(answer, schema),
    ...answer.aggregates.flatMap((name) => charts(answer, name, schema, view)),
    legend(answer, schema, view),
    ...(answer.by.length ? [groupTable(answer, view)] : []),
  ];
}

/** The answer in one sentence of plain words, with the whole question. */
export function sentenceOf(answer) {
  const words = capital(answer.in_words);
  if (answer.by.length) return `${words}: ${number(answer.rows.length)} ${answer.rows.length === 1 ? "answer" : "answers"}.`;
  const [name] = answer.aggregates;
  if (answer.sentence) return counted(answer, answer.rows[0].answers[name]);
  const ends = answer.aggregates.map((one) => single(answer.rows[0].answers[one], answer.aggregates.length > 1 ? `${one}: ` : ""));
  return `${words}: ${ends.join(" ")}`;
}

/** "Between 527 and 1,001 people with age from 30 to 50 and sex female." */
function counted(answer, one) {
  const ends = endsOf(one);
  const count = isExact(one) ? `Exactly ${ends[0]}` : `Between ${ends[0]} and ${ends[1]}`;
  return answer.in_words === "all people" ? `${count} people are in the data.` : `${count} ${answer.in_words}.`;
}

function single(one, of) {
  if (one.lo === null) return `${of}nobody can qualify.`;
  const perhaps = one.nullable ? " It may also be that nobody qualifies at all." : "";
  const ends = endsOf(one);
  return isExact(one) ? `${of}exactly ${ends[0]}.${perhaps}` : `${of}between ${ends[0]} and ${ends[1]}.${perhaps}`;
}

/** "avg_salary" is "average salary"; names of one's own stay. */
function aggregateWords(name) {
  const [, part, of] = /^(avg|sum|min|max)_(.+)$/.exec(name) ?? [];
  if (part) return `${MEASURES[part]}${part === "sum" ? " of" : ""} ${called(of)}`;
  return { count: "Number of people", "share_%": "Percent" }[name] ?? name;
}

function wideWords(answer, schema) {
  const all = answer.rows.flatMap((row) => answer.aggregates.map((name) => isTooWide(row.answers[name], name, schema)));
  const wide = all.filter(Boolean).length;
  if (!wide) return [];
  const which = all.length === 1 ? "This range is" : wide === all.length ? "All ranges are" : `${number(wide)} of ${number(all.length)} ranges are`;
  return [make("p", { class: "wide-note", text: `${which} too wide to say much. Try fewer conditions, or wider ones.` })];
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

function singleParts(answer, name, schema, { even }) {
  const one = answer.rows[0].answers[name];
  if (one.lo === null) return [];
  const title = answer.aggregates.length > 1 ? [make("h3", { text: aggregateWords(name) })] : [];
  const share = name === "count" && schema.rows
    ? [make("p", { class: "soft share", text: shareWords(one, schema.rows) })] : [];
  const alt = answer.aggregates.length > 1 ? `${aggregateWords(name)}: ${answer.in_words}` : capital(answer.in_words);
  return [...title, intervalBar(one, alt, even), ...share];
}

function shareWords(one, rows) {
  const all = `all ${number(rows)} people in the data`;
  const [least, most] = [percent(one.lo / rows), percent(one.hi / rows)];
  return least === most ? `That is ${least} of ${all}.` : `That is between ${least} and ${most} of ${all}.`;
}

// ----- groups

function chartParts(answer, name, schema, { even }) {
  const rows = answer.rows.map((row) => ({ keys: answer.by.map((one) => keyWords(one, row.key[one])), answer: row.answers[name] }));
  const words = answer.aggregates.length > 1 ? `${aggregateWords(name)}: ${answer.in_words}` : capital(answer.in_words);
  const title = make("h3", { text: words });
  const inexact = rows.some((row) => !isExact(row.answer));
  const sure = inexact ? certain(rows) : new Set(rows);
  const line = onLine(rows, answer.by);
  const order = inexact ? orderWords(rows, !line) : "";
  const said = order ? [make("p", { class: "ranking", text: order })] : [];
  if (line) {
    const placed = rows.filter((row) => row.keys[0] !== null);
    const others = rows.filter((row) => row.keys[0] === null && row.answer.lo !== null);
    return [
      title,
      ...said,
      columnsChart(placed, words, called(answer.by[0]), { even, sure: new Set(rows) }),
      ...others.map((row) => make("p", { class: "soft small", text: `Where ${called(answer.by[0])} is unknown: ${endsOf(row.answer).join(" to ")}.` })),
    ];
  }
  const place = make("div");
  let [all, sorted] = [false, false];
  const draw = () => {
    const ordered = sorted ? highestFirst(rows) : rows;
    place.replaceChildren(rowsChart(all ? ordered : ordered.slice(0, SHOWN_ROWS), words, { even, sure }), ...more());
  };
  const more = () => (all || rows.length <= SHOWN_ROWS ? [] : [moreButton(rows.length, () => { all = true; draw(); })]);
  const arrange = make("label", { class: "order" },
    make("input", { type: "checkbox", onchange: (event) => { sorted = event.target.checked; draw(); } }),
    make("span", { text: "by the middle of the range, largest first" }));
  draw();
  return [make("div", { class: "heading-row" }, title, rows.length > 2 ? arrange : null), ...said, place];
}

/** Inside the groups of the first keys, which stay together. */
function highestFirst(rows) {
  const size = (row) => (row.answer.lo === null ? -Infinity : numberOf(row.answer.lo) + numberOf(row.answer.hi));
  const outer = (row) => JSON.stringify(row.keys.slice(0, -1));
  const places = new Map();
  for (const row of rows) if (!places.has(outer(row))) places.set(outer(row), places.size);
  return [...rows].sort((a, b) => places.get(outer(a)) - places.get(outer(b)) || size(b) - size(a));
}

const moreButton = (count, onclick) =>
  make("button", { type: "button", class: "plain more", text: `Show all ${number(count)}`, onclick });

function groupTable(answer, { even }) {
  const several = answer.aggregates.length > 1;
  const head = answer.aggregates.flatMap((name) => {
    const of = several ? `${name}: ` : "";
    return [`${of}at least`, `${of}at most`, ...(even ? [`${of}spread evenly`] : [])];
  });
  const body = make("tbody");
  const place = make("div");
  const show = (count) => body.replaceChildren(...answer.rows.slice(0, count).map((row) => tableRow(answer, row, even)));
  show(SHOWN_ROWS);
  if (answer.rows.length > SHOWN_ROWS) {
    place.append(moreButton(answer.rows.length, () => { show(answer.rows.length); place.remove(); }));
  }
  const columns = [
    ...answer.by.map((name) => make("th", { scope: "col", text: called(name) })),
    ...head.map((words) => make("th", { scope: "col", class: words.endsWith("evenly") ? "n soft" : "n", text: words })),
  ];
  return make("details", { class: "table", open: answer.rows.length <= SHOWN_ROWS },
    make("summary", { text: `Table of ${number(answer.rows.length)} answers` }),
    make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of answers" },
      make("table", {}, make("caption", { class: "away", text: capital(answer.in_words) }), make("thead", {}, make("tr", {}, columns)), body)), place);
}

function tableRow(answer, row, even) {
  const keys = answer.by.map((name) => make("th", { scope: "row", text: valueWords(name, row.key[name]) }));
  const cells = answer.aggregates.flatMap((name) => {
    const one = row.answers[name];
    if (one.lo === null) return ["–", "–", ...(even ? ["–"] : [])].map((text) => make("td", { class: "n soft", text }));
    return [
      make("td", { class: "n", text: endsOf(one)[0] }),
      make("td", { class: "n", text: endsOf(one).at(-1) }),
      ...(even ? [make("td", { class: "n soft", text: isExact(one) ? "exact" : one.estimate === null ? "–" : about(one) })] : []),
    ];
  });
  return make("tr", {}, keys, cells);
}

// ----- below the answer

function legend(answer, schema, { even }) {
  const all = answer.rows.flatMap((row) => Object.values(row.answers)).filter((one) => one.lo !== null);
  const open = all.some((one) => !isExact(one));
  const closed = all.some(isExact);
  const hidden = schema.attributes.filter((one) => one.role === "sensitive").map((one) => one.name);
  const untouched = !hidden.some((name) => answer.canonical.includes(name));
  const why = untouched && schema.framework === "anatomy" ? `: the question leaves out ${listed(hidden.map(called))}, and nothing else is protected here` : "";
  return make("ul", { class: "legend" },
    open ? make("li", {}, make("i", { class: "key-range" }), "The true number is surely in this range; where in it, nothing is said.") : null,
    open && even ? make("li", {}, make("i", { class: "key-estimate" }), evenWords(schema)) : null,
    closed ? make("li", {}, make("i", { class: "key-exact" }), `Exact${why}.`) : null);
}

/** What the mark is worth, as measured on tables of salaries: that of this one would be a secret. */
function evenWords({ size, framework }) {
  const boxes = framework === "generalization";
  const off = size ? (boxes ? "a quarter" : "4 to 6 percent") : (boxes ? "more than was there" : "a quarter");
  const measured = `In trials with salaries, such numbers were off by ${off} over all questions together, and small ones by far more.`;
  return `Where it would be if values were spread evenly inside each group. They need not be, and nobody vouches for it. ${measured} It does not tell which group is above which.`;
}

function actions(answer, database, sql, schema, view) {
  const copies = [
    ["Copy link", () => location.href],
    ["SQL", () => sql],
    ["curl", () => asCurl(sql, database, Boolean(token.get()))],
    ["Python", () => asPython(sql, database, Boolean(token.get()))],
    ["citation", () => citation(sentenceOf(answer), answer, schema)],
  ];
  const words = () => shownAs(answer, view).in_words;
  const plain = (text, onclick) => make("button", { type: "button", class: "plain", text, onclick });
  return make("div", { class: "actions share-actions", role: "group", "aria-label": "Use this answer elsewhere" },
    copies.map(([words, text]) =>
      make("button", {
        type: "button", class: "plain", text: capital(words), "aria-label": words === "Copy link" ? null : `Copy as ${words}`,
        onclick: (event) => copyText(text(), event.currentTarget),
      })),
    plain("Download CSV", () =>
      download(fileName(database, words(), "csv"), asCsv(shownAs(answer, view), view.even && !view.shares), "text/csv;charset=utf-8")),
    ["SVG", "PNG"].map((kind) => plain(`Picture (${kind})`, async () => {
      const chart = document.querySelector("#answer .interval svg, #answer .chart svg");
      if (!chart) return;
      const texts = [chart, view.shares ? capital(words()) : sentenceOf(answer), citation("", answer, schema)];
      const content = kind === "SVG" ? asSvg(...texts) : await asPng(...texts);
      download(fileName(database, words(), kind.toLowerCase()), content, kind === "SVG" ? "image/svg+xml" : "image/png");
    })));
}

function facts(answer) {
  const told = [
    ["The question, as it was understood", make("code", { text: answer.canonical })],
    ["Receipt: number and digest of this answer in the ledger", make("code", { text: answer.receipt })],
    ["Number of the request", make("code", { text: answer.request_id })],
    ["State of the data", `generation ${answer.generation}`],
  ];
  return make("details", { class: "small" }, make("summary", { text: "About this answer" }),
    answer.guarantee ? make("p", { text: answer.guarantee }) : null,
    make("dl", {}, told.flatMap(([name, fact]) => [make("dt", { text: name }), make("dd", {}, fact)])));
}

// ----- before, instead, and meanwhile

export function welcome(schema, examples, choose) {
  const hidden = schema.attributes.filter((one) => one.role === "sensitive").map((one) => called(one.name));
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
