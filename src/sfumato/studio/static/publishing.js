// Publishing: a release is made, checked, looked at, downloaded, saved.

import { ask } from "./desk.js";
import { byId, fill, make } from "./dom.js";
import { number } from "./format.js";
import { figures } from "./exposure.js";
import { calm, commandBox, complain, ended, list, logged, share, tiles, tried } from "./parts.js";
import { numbersOf, watch } from "./work.js";

const PROMISES = { k: "k: at least so many alike", l: "l: no value above 1/l of a group", t: "t: distance from the whole table", m: "m: a guess is right at 1/m" };
let known = [];

export function offerPublishing(methods) {
  known = methods;
  fill(byId("method"), methods.map((one) => make("option", { value: one.name, text: one.name })));
  fill(byId("promises"), Object.entries(PROMISES).map(([name, text]) => make("div", { class: "field" },
    make("label", { for: `promise-${name}`, text }), make("input", { id: `promise-${name}`, inputmode: "decimal", autocomplete: "off" }))));
  byId("promise-k").value = "5";
  fit();
}

/** Shows the fields that a method takes. */
function fit() {
  const method = known.find((one) => one.name === byId("method").value);
  for (const name of Object.keys(PROMISES)) byId(`promise-${name}`).closest(".field").hidden = !method.promises.includes(name);
  byId("labels").closest(".field").hidden = !method.boxes;
}

export function listen(showJob) {
  byId("method").addEventListener("change", fit);
  byId("publish-form").addEventListener("submit", (event) => {
    event.preventDefault();
    tried(async () => {
      const method = known.find((one) => one.name === byId("method").value);
      const promises = Object.fromEntries(method.promises.map((name) => [name, numbersOf(byId(`promise-${name}`).value, name)[0]]));
      const wish = { method: method.name, ...promises, labels: method.boxes ? byId("labels").value : "",
        format: byId("format").value, seed_file: byId("seed-file").value.trim() };
      await watch(await ask("publish", wish), showJob);
      byId("releases").firstElementChild?.scrollIntoView({ block: "nearest" });
    });
  });
}

/** Fills the form in with a point of an exploration. */
export function take(point) {
  byId("method").value = point.method;
  for (const name of Object.keys(PROMISES)) byId(`promise-${name}`).value = point.promises[name] ?? "";
  byId("labels").value = "";
  fit();
}

export function showReleases(releases, table) {
  fill(byId("releases"), [...releases].reverse().map((one) => releaseCard(one, table)));
}

function releaseCard(one) {
  const id = `release-${one.number}`;
  const cost = [`${number(one.rows)} rows in ${number(one.groups)} groups`, one.left_out ? `${number(one.left_out)} left out` : null,
    one.loss === null ? "quasi-identifiers exact" : `NCP ${share(one.loss)}`].filter(Boolean).join(", ");
  return make("section", { class: "panel release", "aria-labelledby": id },
    make("div", { class: "heading-row" }, make("h2", { id, text: `Release ${one.number}: ${one.name}` }),
      make("span", { class: `verdict ${one.kept ? "kept" : "broken"}`, text: one.kept ? "promise verified" : "PROMISE BROKEN" })),
    make("p", { class: "soft", text: `${ended(cost)} ${one.format === "csv" ? "CSV" : "Parquet"}.` }),
    tiles(figures(one.risk)),
    make("div", { class: "halves" },
      make("div", {}, make("h3", { text: "Who is still exposed" }), list(one.risk.sentences.slice(0, 4)),
        one.attacked ? make("p", {}, make("b", { text: "Attacked: " }), ended(one.attacked)) : null),
      one.usefulness ? make("div", {}, make("h3", { text: "What it is good for" }), list(one.usefulness.sentences.slice(0, 4))) : null),
    one.warnings.map((text) => make("p", { class: "note", text: ended(text) })),
    make("details", { class: "small" }, make("summary", { text: `What was verified (${one.checks.length})` }),
      list(one.checks.map((check) => `${check.kept ? "Kept" : "BROKEN"}: ${check.statement}${check.detail ? ` – ${check.detail}` : ""}`))),
    save(one, id),
    commandBox(one.commands));
}

function save(one, id) {
  const path = make("input", { id: `${id}-path`, autocomplete: "off", spellcheck: "false", placeholder: "out/", value: "" });
  const said = make("div", { role: "status" });
  const button = make("button", { class: "plain", text: "Save" });
  const go = (force) => saved(one, path.value.trim(), force, said, () => go(true));
  const form = make("form", { class: "save", onsubmit: (event) => { event.preventDefault(); go(false); } },
    make("label", { for: path.id, text: `Save release ${one.number} in a folder` }),
    make("div", { class: "row wrap" }, path, button,
      make("a", { class: "button", href: `release.zip?number=${one.number}`, download: true, text: "Download" }),
      make("a", { class: "button", href: `release.toml?number=${one.number}`, download: true, text: "Its schema" })),
    said);
  return form;
}

async function saved(one, path, force, said, replace) {
  calm();
  if (!path) return complain({ message: "Say where", hint: "A folder that is not there yet, such as out/" });
  try {
    const found = await logged(`save release ${one.number}`, "save", () => ask("save", { release: one.number, path, force }));
    fill(said, make("p", { text: `Saved in ${found.path}.` }), found.warnings.map((text) => make("p", { class: "note", text: ended(text) })),
      commandBox(found.commands));
  } catch (trouble) {
    if (trouble.code !== "exists" || force) return complain(trouble);
    fill(said, make("div", { class: "note" }, make("p", { text: ended(trouble.message) }),
      make("button", { type: "button", class: "plain", text: `Replace ${path}`, onclick: replace })));
    said.querySelector("button").focus();
  }
  return undefined;
}
