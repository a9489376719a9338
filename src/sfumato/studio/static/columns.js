// The columns: what each holds, the role it plays, how its values are read; with live effect.

import { ask } from "./desk.js";
import { byId, fill, make } from "./dom.js";
import { number } from "./format.js";
import { busy, showCombinations, showRisk } from "./exposure.js";
import { bars, calm, complain, ended, logged, say, showCommand } from "./parts.js";

const ROLES = [
  ["identifier", "identifier: left out"],
  ["quasi", "known to others (quasi)"],
  ["sensitive", "sensitive"],
  ["insensitive", "harmless (insensitive)"],
  ["", "not read"],
];
const HOWS = { found: "as found", numerical: "as numbers", categorical: "as names", order: "in an order of mine",
  bins: "in classes of numbers", intervals: "in a tree of intervals", file: "in a tree from a file" };
const words = Object.fromEntries(ROLES);
let turn = 0;

export function showColumns(columns) {
  fill(byId("columns"), columns.map(card));
}

/** What follows from a change: figures, command, schema; then, a moment later, combinations. */
export async function showEffect(effect) {
  showRisk(effect);
  showCommand("columns-command", effect.commands);
  byId("save-schema").hidden = !effect.toml;
  if (byId("stale")) byId("stale").hidden = !effect.stale;
  const mine = ++turn;
  busy(Boolean(effect.risk));
  if (!effect.risk) return;
  await logged("combinations", "combinations", async () => {
    const found = await ask("combinations");
    if (mine === turn) showCombinations(found);
  }).finally(() => { if (mine === turn) busy(false); });
}

/** Changes something about a column; what cannot be is told, and nothing changes. */
async function change(column, kind, what, told) {
  calm();
  busy(true);
  let effect;
  try {
    effect = await logged(`${kind} of ${column.name}`, kind, async () => {
      const found = await ask(what, { column: column.name, ...told });
      replace(found.column);
      showRisk(found);
      return found;
    });
  } catch (trouble) {
    busy(false);
    complain(trouble);
    if (kind === "role") replace(column); // what was typed into a form stays
    return;
  }
  const alone = effect.risk ? `${number(effect.risk.unique_rows)} of ${number(effect.risk.people)} people stand alone.` : ended(effect.why);
  say(`${column.name}: ${words[effect.column.role ?? ""]}. ${alone}`);
  await showEffect(effect).catch(complain);
}

/** Puts a card in its place; what had the focus keeps it. */
function replace(column) {
  const old = [...byId("columns").children].find((one) => one.dataset.name === column.name);
  const focused = old.contains(document.activeElement) ? document.activeElement.id : null;
  const fresh = card(column);
  const open = old.querySelector("details")?.open;
  old.replaceWith(fresh);
  if (open && fresh.querySelector("details")) fresh.querySelector("details").open = true;
  if (focused) document.getElementById(focused)?.focus();
}

function card(column) {
  const id = `column-${[...column.name].map((sign) => sign.codePointAt(0).toString(36)).join("-")}`;
  const counted = [column.distinct === null ? null : `${number(column.distinct)} values`,
    column.missing ? `${number(column.missing)} missing` : null].filter(Boolean).join(", ");
  return make("li", { class: `card role-${column.role ?? "none"}`, "data-name": column.name },
    make("div", { class: "card-head" },
      make("h3", { class: "name", text: column.name }), make("span", { class: "badge", text: column.type }),
      make("span", { class: "soft small", text: counted })),
    make("div", { class: "card-picture" }, column.bars?.length ? [bars(column.bars, column.name), ends(column)] : null),
    make("div", { class: "card-role" }, column.usable ? role(column, id) : make("p", { class: "soft", text: "Lists and bytes play no role." })),
    column.hint || column.trouble ? make("p", { class: "note small", text: ended(column.trouble ?? `It holds ${column.hint}`) }) : null,
    column.usable && ["quasi", "sensitive"].includes(column.role) ? reading(column, id) : null);
}

function ends(column) {
  if (column.rest) return make("p", { class: "soft small", text: `and ${column.rest.label}: ${number(column.rest.rows)} rows` });
  if (column.kind !== "numerical" || !column.ends) return null;
  return make("p", { class: "ends-line soft small" }, column.ends.map((text) => make("span", { text })));
}

function role(column, id) {
  const reason = column.guess === column.role ? `Guessed: ${column.reason}.` : `The guess was ${column.guess ?? "none"}: ${column.reason}.`;
  const select = make("select", { id: `${id}-role`, "aria-describedby": `${id}-why`,
    onchange: () => change(column, "role", "role", { role: select.value || null }) },
  ROLES.map(([value, text]) => make("option", { value, text, selected: value === (column.role ?? "") })));
  return [make("label", { class: "away", for: select.id, text: `Role of ${column.name}` }), select,
    make("p", { class: "soft small", id: `${id}-why`, text: reason })];
}

// ----- how values are read

function reading(column, id) {
  const place = make("div");
  const how = column.how === "tree" ? (column.tree.words.startsWith("of ") ? "file" : "intervals") : column.how;
  const select = make("select", { id: `${id}-how`, onchange: () => {
    if (["found", "numerical", "categorical"].includes(select.value)) {
      change(column, "reading", "how", { how: select.value });
    } else fill(place, form(column, id, select.value));
  } }, Object.entries(HOWS).map(([value, text]) => make("option", { value, text: value === "found" ? `${text} (${column.how === "found" ? column.kind : "again"})` : text, selected: value === how })));
  if (!["found", "numerical", "categorical"].includes(how)) fill(place, form(column, id, how));
  const said = how === "found" ? "How its values are read" : `How its values are read: ${HOWS[how]}`;
  return make("details", { class: "small reading" }, make("summary", { text: said }),
    make("label", { for: select.id, class: "away", text: `How values of ${column.name} are read` }), select,
    column.tree ? make("p", { class: "soft small", text: `A taxonomy, ${column.tree.words}. ${column.tree.levels.join("; ")}.` }) : null,
    place);
}

function form(column, id, how) {
  const send = (told) => change(column, "reading", "how", { how, told });
  const parts = { order: orderForm, bins: binsForm, intervals: intervalsForm, file: fileForm }[how](column, id, send);
  return make("div", { class: "reading-form" }, parts);
}

const use = (label, onclick) => make("button", { type: "button", class: "plain", text: label, onclick });

const field = (id, text, input) => make("div", { class: "field" }, make("label", { for: id, text }), input);

function orderForm(column, id, send) {
  if (!column.values) return [make("p", { class: "soft", text: "There are too many values to put them in an order here, or too long ones; say it in a schema file." })];
  const area = make("textarea", { id: `${id}-order`, rows: Math.min(10, column.values.length + 1), spellcheck: "false", value: column.values.join("\n") });
  return [field(area.id, "The values, the lowest first, one per line", area),
    use("Use this order", () => send(area.value.split("\n").map((line) => line.trim()).filter(Boolean)))];
}

function binsForm(column, id, send) {
  const input = make("input", { id: `${id}-bins`, autocomplete: "off", value: column.bins ? [column.bins].flat().join(", ") : "", placeholder: "5, or borders: 0, 20000, 50000" });
  return [field(input.id, "How many classes, or the borders between them", input),
    use("Use these classes", () => {
      const numbers = input.value.split(",").map((part) => part.trim()).filter(Boolean).map(Number);
      send(numbers.length === 1 && Number.isInteger(numbers[0]) && numbers[0] < 1000 ? numbers[0] : numbers);
    })];
}

function intervalsForm(column, id, send) {
  const [low, high] = (column.ends ?? ["", ""]).map((text, place) => make("input", { id: `${id}-end-${place}`, inputmode: "numeric", autocomplete: "off", value: text }));
  const widths = make("input", { id: `${id}-widths`, autocomplete: "off", value: "5, 10, 20" });
  return [make("div", { class: "pair" }, field(low.id, "From", low), field(high.id, "to", high),
    field(widths.id, "Widths, each a multiple of the one before", widths)),
  use("Use these intervals", () => send({ low: Number(low.value), high: Number(high.value), widths: widths.value.split(",").map(Number) }))];
}

function fileForm(column, id, send) {
  const input = make("input", { id: `${id}-file`, type: "file", accept: ".csv,.tsv,.txt,.toml,.json" });
  return [field(input.id, "A taxonomy: TOML, JSON, or a hierarchy as CSV (value;group;*)", input),
    use("Use this file", async () => {
      const file = input.files[0];
      if (file) send({ name: file.name, text: await file.text() });
      else complain({ message: "No file is chosen yet" });
    })];
}
