// The page: which database, which question, what came back. The address decides what is shown.

import { Trouble, ask, databases, schema as schemaOf, token } from "./api.js";
import { sentenceOf, shownAnswer, shownTrouble, waiting, welcome } from "./answer.js";
import { Builder } from "./builder.js";
import { byId, fill, make } from "./dom.js";
import { capital, endsOf, listed, number, sentence } from "./format.js";
import { forgetAll, remember, remembered } from "./history.js";
import { COUNT, databaseOf, empty, fromAddress, toAddress, toBody, toSql, words } from "./question.js";
import { pointsOf } from "./map.js";
import { called, learn, valueWords } from "./words.js";

const builder = new Builder();
const page = { databases: [], schema: null, mode: "pick", running: null, turn: 0, asked: false, filled: "" };

start();

async function start() {
  listen();
  await enter();
}

function listen() {
  byId("ask").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  byId("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
  });
  byId("cancel").addEventListener("click", () => {
    page.running?.abort();
    page.turn += 1;
    busy(false);
    fill(byId("answer"), make("p", { class: "soft", text: "Cancelled. The question may have been recorded all the same." }));
    byId("live").textContent = "Cancelled.";
    byId("ask-button").focus();
  });
  byId("reset").addEventListener("click", () => {
    builder.show(empty());
    byId("sql").value = "";
    page.filled = "";
    go(startOf(page.schema?.database ?? page.databases[0].name));
  });
  byId("database").addEventListener("change", (event) => go(startOf(event.target.value)));
  byId("tab-pick").addEventListener("click", () => choose("pick"));
  byId("tab-sql").addEventListener("click", () => choose("sql"));
  document.querySelector(".tabs").addEventListener("keydown", moveTab);
  byId("token-form").addEventListener("submit", (event) => { event.preventDefault(); unlock(); });
  byId("forget").addEventListener("click", () => { token.forget(); forgetAll(); location.reload(); });
  byId("clear-history").addEventListener("click", () => { forgetAll(); showHistory(); byId("question-heading").focus(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("question-heading").focus(); });
  window.addEventListener("hashchange", () => follow());
}

// ----- getting in

async function enter() {
  byId("broken").hidden = true;
  try {
    page.databases = await databases();
  } catch (trouble) {
    return refuseEntry(trouble);
  }
  byId("door").hidden = true;
  byId("forget").hidden = !token.get();
  if (!page.databases.length) return sayBroken("There is no database that you may ask.");
  fill(byId("database"), page.databases.map((one) => make("option", { value: one.name, text: one.name })));
  byId("picker").hidden = page.databases.length < 2;
  showHistory();
  return follow();
}

function refuseEntry(trouble) {
  if (trouble.status !== 401) return sayBroken([trouble.message, trouble.hint].filter(Boolean).join(" "));
  byId("main").hidden = true;
  byId("door").hidden = false;
  byId("token-error").textContent = token.get() ? `${sentence(trouble.message)} ${sentence(trouble.hint)}` : "";
  token.forget();
  byId("forget").hidden = true;
  byId("token").value = "";
  byId("token").focus();
  return undefined;
}

async function unlock() {
  token.set(byId("token").value.trim());
  await enter();
  if (byId("door").hidden) byId("question-heading").focus();
}

function sayBroken(words) {
  byId("broken").textContent = words;
  byId("broken").hidden = false;
}

// ----- the address

const startOf = (database) => `#${new URLSearchParams({ db: database })}`;

/** Go to an address; the same address again asks again. */
function go(address) {
  if (location.hash === address) follow();
  else location.hash = address;
}

/** Show what the address says. */
async function follow() {
  page.running?.abort();
  const turn = ++page.turn;
  const name = databaseOf(location.hash) ?? page.databases[0].name;
  try {
    if (page.schema?.database !== name) await open(name);
    if (turn !== page.turn) return; // the address went on meanwhile
    const question = fromAddress(location.hash, page.schema.attributes);
    if (question) show(question);
    else showWelcome();
    if (question) await answer(question);
  } catch (trouble) {
    if (trouble.name === "AbortError" || turn !== page.turn) return;
    if (trouble.status === 401) refuseEntry(trouble);
    else complain(trouble instanceof Trouble ? trouble : new Trouble(-1, { message: trouble.message, hint: "Start over, or pick another database." }));
  }
}

async function open(name) {
  fill(byId("answer"), ...waiting());
  byId("main").hidden = false;
  byId("database").value = name;
  page.schema = null;
  const schema = await schemaOf(name);
  page.schema = { ...schema, database: name };
  page.schema.attributes = [...schema.attributes, ...pointsOf(schema)];
  learn(page.schema.attributes);
  builder.offer(page.schema.attributes, name);
  const about = [schema.title, schema.description, schema.source && `Source: ${schema.source}`].filter(Boolean).map(sentence);
  byId("lead").textContent = [...about, `${number(schema.rows)} people are in the database “${name}”.`, "Every answer is an interval that holds the truth."].join(" ");
  const hidden = listed(schema.attributes.filter((one) => one.role === "sensitive").map((one) => called(one.name)));
  const promise = `Whoever sees all answers to all questions guesses a person's ${hidden} right with a chance of at most 1 in ${schema.m}, if every way to hand out the values looked equally likely to them beforehand. `;
  fill(byId("promise"), promise, make("a", { href: "about", text: "What that means" }));
  for (const link of document.querySelectorAll('a[href^="about"]')) link.href = `about${startOf(name)}`;
  document.title = `Ask the data: ${schema.title ?? name}`;
}

function show(question) {
  choose(question.mode, false);
  if (question.mode === "sql") byId("sql").value = question.sql;
  else builder.show(question);
}

function showWelcome() {
  byId("live").textContent = "";
  fill(byId("answer"), ...welcome(page.schema, examples(page.schema), (question) => go(toAddress(page.schema.database, question))));
}

/** Questions that every database can be asked, and answers with ranges. */
function examples({ attributes }) {
  const sensitive = attributes.find((one) => one.role === "sensitive");
  const short = attributes.find((one) => one.role !== "sensitive" && one.values?.length > 1 && one.values.length <= 12);
  const line = attributes.find((one) => one.role !== "sensitive" && typeof one.min === "number" && one.size > 12);
  const older = line && [line.name, { from: Math.round((line.min + line.max) / 2), to: "", unknown: false }];
  const olderWords = line && `${called(line.name)} of ${older[1].from} or more`;
  const wanted = sensitive && wantedOf(sensitive);
  const found = [];
  const add = (text, where, by = [], measure = COUNT) =>
    found.push({ question: { ...empty(), where: new Map(where), by, measure }, words: text });
  if (wanted && older) add(`How many with ${called(sensitive.name)} ${wanted.words} and ${olderWords}?`, [older, wanted.condition]);
  if (wanted && short) {
    const also = older ? ` and ${olderWords}` : "";
    add(`How many with ${called(sensitive.name)} ${wanted.words}${also}, by ${called(short.name)}?`, [...(older ? [older] : []), wanted.condition], [short.name]);
  }
  if (sensitive && typeof sensitive.min === "number" && short) {
    const whom = older ? ` of people with ${olderWords}` : "";
    add(`The average ${called(sensitive.name)}${whom}, by ${called(short.name)}?`, older ? [older] : [], [short.name], { function: "avg", of: sensitive.name });
  } else if (sensitive && short) {
    const whom = older ? [older] : [[short.name, { values: [short.values[0]] }]];
    add(`How many of each ${called(sensitive.name)} with ${older ? olderWords : `${called(short.name)} ${valueWords(short.name, short.values[0])}`}?`, whom, [sensitive.name]);
  }
  return found;
}

/** A condition on what is protected: a value, or the upper half. */
function wantedOf(sensitive) {
  if (sensitive.values) {
    const value = sensitive.values[Math.floor(sensitive.values.length / 2)];
    return { words: valueWords(sensitive.name, value), condition: [sensitive.name, { values: [value] }] };
  }
  if (typeof sensitive.min !== "number") return null;
  const middle = Math.round((sensitive.min + sensitive.max) / 2);
  return { words: `of ${middle} or more`, condition: [sensitive.name, { from: middle, to: "", unknown: false }] };
}

// ----- asking

function submit() {
  const question = page.mode === "sql" ? { mode: "sql", sql: byId("sql").value.trim() } : builder.question;
  if (question.mode === "sql" && !question.sql) {
    complain(new Trouble(-1, { code: "invalid_request", message: "There is no question yet.", hint: "Write, for example: SELECT COUNT(*) FROM t" }));
    byId("sql").focus();
    return;
  }
  page.asked = true;
  go(toAddress(page.schema.database, question));
}

async function answer(question) {
  const running = new AbortController();
  page.running = running;
  const database = page.schema.database;
  const address = location.hash;
  busy(true);
  try {
    const found = await ask(database, toBody(question), running.signal);
    const sql = question.mode === "sql" ? question.sql : found.canonical;
    fill(byId("answer"), ...shownAnswer(found, question, { database, schema: page.schema, sql }));
    byId("live").textContent = `The answer: ${sentenceOf(found)}`;
    remember({ address, words: question.mode === "sql" ? words(question) : found.in_words, result: resultWords(found), database });
    document.title = `${capital(found.in_words)} – ${database}`;
    showHistory();
    if (page.asked) bringIntoView();
  } finally {
    if (page.running === running) {
      page.asked = false;
      busy(false);
    }
  }
}

function busy(on) {
  const button = byId("ask-button");
  button.textContent = on ? "Asking …" : "Ask";
  button.setAttribute("aria-disabled", String(on));
  byId("cancel").hidden = !on;
  byId("answer-section").setAttribute("aria-busy", String(on));
  if (on) {
    byId("live").textContent = "";
    fill(byId("answer"), ...waiting());
  }
}

function complain(trouble) {
  busy(false);
  const question = page.mode === "sql" ? { mode: "sql", sql: byId("sql").value } : builder.question;
  fill(byId("answer"), shownTrouble(trouble, question, () => follow()));
  bringIntoView();
}

/** On a phone the answer stands below the form. */
function bringIntoView() {
  const section = byId("answer-section");
  const { top } = section.getBoundingClientRect();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (top > innerHeight * 0.6 || top < 0) section.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
}

function resultWords(found) {
  if (found.by.length) return `${number(found.rows.length)} answers`;
  return found.aggregates
    .map((name) => found.rows[0].answers[name])
    .map((one) => (one.lo === null ? "nobody" : endsOf(one).join(" – ")))
    .join("; ");
}

function showHistory() {
  const entries = remembered();
  byId("history-section").hidden = !entries.length;
  fill(byId("history"), entries.map((entry) =>
    make("li", {}, make("a", { href: entry.address }, make("span", { class: "what", text: entry.words }),
      page.databases.length > 1 ? make("span", { class: "badge", text: entry.database }) : null,
      make("span", { class: "result", text: entry.result })))));
}

// ----- pick or write

function choose(mode, filling = true) {
  const before = page.mode;
  page.mode = mode;
  for (const [name, panel] of [["pick", "pick"], ["sql", "write"]]) {
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === mode));
    byId(`tab-${name}`).tabIndex = name === mode ? 0 : -1;
    byId(panel).hidden = name !== mode;
  }
  // what was picked is a start for what is written
  if (!filling || mode !== "sql" || before !== "pick") return;
  const area = byId("sql");
  // what was typed by hand stays
  if (area.value.trim() && area.value !== page.filled) return;
  page.filled = toSql(builder.question);
  area.value = page.filled;
}

function moveTab(event) {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  event.preventDefault();
  const other = page.mode === "pick" ? "sql" : "pick";
  choose(other);
  byId(`tab-${other}`).focus();
}
