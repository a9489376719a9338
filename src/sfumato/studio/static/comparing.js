// Two releases side by side: figures in a table, distributions as small charts.

import { ask } from "./desk.js";
import { byId, fill, make } from "./dom.js";
import { multiple } from "./frontier.js";
import { number } from "./format.js";
import { commandBox, logged, share, tried } from "./parts.js";

export function offerReleases(releases) {
  const few = releases.length < 2;
  byId("compare-form").hidden = few;
  byId("compare-few").hidden = !few;
  for (const [id, place] of [["first", -2], ["second", -1]]) {
    fill(byId(id), releases.map((one) => make("option", { value: String(one.number), text: `${one.number}: ${one.name}` })));
    byId(id).value = String(releases.at(place)?.number ?? "");
  }
  if (few) fill(byId("compared"));
}

export function listen() {
  byId("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    tried(() => logged("compare", "compare", async () => {
      const [first, second] = ["first", "second"].map((id) => Number(byId(id).value));
      show(await ask("compare", { first, second }));
    }));
  });
}

const worst = (one, part) => Math.max(0, ...one.risk.attributes.map((found) => found[part]));
const LINES = [
  ["Promise verified", (one) => (one.kept ? "yes" : "NO")],
  ["Rows", (one) => number(one.rows)],
  ["Left out", (one) => number(one.left_out)],
  ["Groups", (one) => number(one.groups)],
  ["Alike at least", (one) => number(one.risk.smallest_class)],
  ["Found, at worst", (one) => share(one.risk.prosecutor.highest)],
  ["Value is certain of", (one) => number(worst(one, "certain"))],
  ["Guessed at 50% or more", (one) => number(worst(one, "likely"))],
  ["Surest guess", (one) => share(worst(one, "highest"))],
  ["Kept of what goes with what", (one) => share(one.usefulness?.kept)],
  ["Conditional distributions off by", (one) => share(one.usefulness?.distance)],
  ["The same of the marginals alone", (one) => share(one.usefulness?.marginals)],
  ["Lost (NCP)", (one) => (one.loss === null ? "quasi-identifiers exact" : share(one.loss))],
];

function show({ sides, conditionals, distributions, commands }) {
  const names = sides.map((one) => `${one.number}: ${one.name}`);
  const drawn = (question) => multiple(question, question.series.map((shares, place) => ({ name: names[place], shares, kind: place ? "other" : "published" })));
  const key = make("p", { class: "legend small" }, [["truth", "table"], ["published", names[0]], ["other", names[1]], ["range", "marginals"]].map(([kind, text]) =>
    make("span", {}, make("i", { class: `key ${kind}` }), text)));
  fill(byId("compared"),
    make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Figures of both" }, make("table", {},
      make("thead", {}, make("tr", {}, make("td"), names.map((text) => make("th", { scope: "col", class: "n", text })))),
      make("tbody", {}, LINES.map(([text, figure]) => make("tr", {}, make("th", { scope: "row", text }),
        sides.map((one) => make("td", { class: "n", text: figure(one) }))))))),
    key,
    conditionals.length ? [make("h3", { text: "What goes with what" }), make("div", { class: "figures" }, conditionals.map(drawn))] : null,
    distributions.length ? [make("h3", { text: "Each column by itself" }), make("div", { class: "figures" }, distributions.map((one) =>
      drawn({ ...one, title: `${one.title}: off by ${one.off.map(share).join(" and ")}` })))] : null,
    commandBox(commands));
}
