// Exploring: which releases there could be, with live progress, and one of them in detail.

import { ask } from "./desk.js";
import { byId, fill, make } from "./dom.js";
import { frontier, multiple, sortable } from "./frontier.js";
import { commandBox, showCommand, tried } from "./parts.js";
import { numbersOf, watch } from "./work.js";

const GRID = { k: "k: at least so many alike", l: "l: no value above 1/l of a group", t: "t: distance from the whole table", m: "m: only for perturb" };
let take = null;

/** Offers the methods; `taken` is told which point its owner wants to publish. */
export function offerMethods(methods, taken) {
  take = taken;
  fill(byId("methods"), methods.map((one) => make("label", { class: "tick" },
    make("input", { type: "checkbox", value: one.name, checked: one.usual }), make("span", { text: one.name }))));
  fill(byId("grid"), Object.entries(GRID).map(([name, text]) => make("div", { class: "field" },
    make("label", { for: `grid-${name}`, text }), make("input", { id: `grid-${name}`, autocomplete: "off", placeholder: "the usual ones" }))));
}

export function listen(showJob) {
  byId("explore-form").addEventListener("submit", (event) => {
    event.preventDefault();
    tried(async () => {
      const methods = [...byId("methods").querySelectorAll("input:checked")].map((one) => one.value);
      const grid = Object.fromEntries(Object.keys(GRID).map((name) => [name, numbersOf(byId(`grid-${name}`).value, name)]));
      const [seed] = numbersOf(byId("explore-seed").value, "seed");
      const [limit] = numbersOf(byId("time-limit").value, "time");
      await watch(await ask("explore", { methods, ...grid, seed, time_limit: limit }), showJob);
    });
  });
}

/** The frontier of what was tried. */
export function showExploration(found) {
  byId("frontier").hidden = !found;
  if (!found) return;
  const best = found.points[found.recommended];
  byId("recommended").textContent = `Recommended: ${best.name}`;
  fill(byId("reasons"), found.reasons.map((text) => make("li", { text })));
  fill(byId("plot"), parsed(found.legend), parsed(found.plot));
  fill(byId("all"), parsed(found.all));
  byId("all").querySelector(".wide").tabIndex = 0;
  byId("refused").hidden = !found.refused.length && !found.left;
  fill(byId("refused").querySelector("ul"), found.refused.map((one) => make("li", {}, make("b", { text: one.name }), `: ${one.why}`)),
    found.left ? make("li", { text: `No time was left for ${found.left} more.` }) : null);
  showCommand("explore-command", found.commands);
  byId("multiples-key").hidden = !found.questions.length;
  const select = frontier({ root: byId("frontier"), tip: byId("tip"), points: found.points, chosen: (place) => detail(found, place) });
  sortable(byId("all").querySelector("table"));
  select(found.recommended);
  const place = byId("plot").querySelector("[aria-pressed=true]").getBoundingClientRect();
  byId("plot").scrollLeft += place.left - byId("plot").getBoundingClientRect().right + byId("plot").clientWidth / 2;
}

function detail(found, place) {
  const point = found.points[place];
  byId("chosen-name").textContent = point.name;
  byId("chosen-words").textContent = point.words;
  fill(byId("chosen-command"), commandBox(point.commands));
  byId("take").onclick = () => take(point);
  fill(byId("multiples"), found.questions.map((question, turn) =>
    multiple(question, [{ name: "release", shares: point.released[turn], kind: "published" }])));
}

/** Ready pieces of the desk's own; whatever is in them from data is spelled out already. */
function parsed(markup) {
  return [...new DOMParser().parseFromString(markup, "text/html").body.children].map((one) => document.importNode(one, true));
}
