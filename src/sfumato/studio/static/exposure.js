// Who is exposed: the figures at once, the combinations when they are found.

import { byId, fill, make } from "./dom.js";
import { listed, number } from "./format.js";
import { ended, list, share, shareBars, tiles } from "./parts.js";

let shown = null;

/** Shows what is known at once; sentences and combinations of before stay until new ones come. */
export function showRisk(effect) {
  shown = effect.risk;
  if (!effect.risk) {
    fill(byId("risk"), make("p", { class: "note", text: ended(effect.why) }));
    byId("alone").textContent = "";
    return;
  }
  byId("alone").textContent = `${number(effect.risk.unique_rows)} of ${number(effect.risk.people)} people stand alone.`;
  const before = byId("risk").querySelector(".combinations");
  fill(byId("risk"), make("div", { class: "figures-of-risk" }, tiles(figures(effect.risk))),
    effect.repeats.map((text) => make("p", { class: "note", text })),
    before ?? make("div", { class: "combinations" }));
}

/** Whether what is shown is about to be followed by something newer. */
export function busy(on) {
  if (on) byId("risk").setAttribute("aria-busy", "true");
  else byId("risk").removeAttribute("aria-busy");
}

/** The figures of a table or of a release. */
export function figures(risk) {
  const worst = risk.attributes.reduce((most, one) => (one.likely > (most?.likely ?? -1) ? one : most), null);
  return [
    [number(risk.unique_rows), `of ${number(risk.people)} stand alone (${share(risk.unique_rows / risk.people)})`, risk.unique_rows > 0],
    [number(risk.smallest_class), "look alike, at least", risk.smallest_class < 2],
    ...(worst ? [
      [number(worst.certain), `people’s ${worst.name} is certain`, worst.certain > 0],
      [number(worst.likely), `can be guessed at 50% or more`, worst.likely > 0],
    ] : []),
    [share(risk.prosecutor.highest), "to be found, at worst", risk.prosecutor.highest > 0.2],
    [share(risk.marketer), "are found on average", false],
  ];
}

/** Adds which columns single people out. */
export function showCombinations({ sets, sentences }) {
  const place = byId("risk").querySelector(".combinations");
  if (!place || !shown) return;
  fill(place, list(sentences),
    sets?.sets.length ? [make("h3", { text: "What singles people out" }), shareBars(sets.sets.map((one) => ({
      label: listed(one.columns, "and"), share: one.people / shown.people, words: number(one.people),
    }))), sets.more ? make("p", { class: "soft small", text: `and ${number(sets.more)} more combinations of up to ${sets.largest} columns` }) : null] : null,
    sets?.columns.length > 1 ? [make("h3", { text: "Alone if nobody knew" }), shareBars(sets.columns.map((one) => ({
      label: one.column, share: one.alone_without / shown.people, words: number(one.alone_without),
    })))] : null,
    shown.sensitive.length ? promises(shown.sensitive) : null);
}

/** What could be promised about each sensitive column. */
function promises(sensitive) {
  const head = ["sensitive", "most frequent", "largest l", "distinct l", "m"];
  return [make("h3", { text: "What could be promised" }), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "What could be promised" }, make("table", {},
    make("thead", {}, make("tr", {}, head.map((text, place) => make("th", { scope: "col", class: place ? "n" : null, text })))),
    make("tbody", {}, sensitive.map((one) => make("tr", {}, make("th", { scope: "row", text: one.name }),
      [share(one.most_frequent_share), one.largest_l, one.largest_distinct_l, one.largest_m].map((text) => make("td", { class: "n", text: String(text) })))))))];
}
