// The desk: which step is shown, and what is known of the table. The address names the step.

import { showColumns, showEffect } from "./columns.js";
import { listen as listenComparing, offerReleases } from "./comparing.js";
import { ask, upload } from "./desk.js";
import { byId } from "./dom.js";
import { listen as listenExploring, offerMethods, showExploration } from "./exploring.js";
import { number } from "./format.js";
import { calm, complain, logged, say, showCommand, tried } from "./parts.js";
import { listen as listenPublishing, offerPublishing, showReleases, take } from "./publishing.js";
import { watch } from "./work.js";

const STEPS = ["open", "columns", "explore", "publish", "compare"];
const page = { open: false };

start();

async function start() {
  listen();
  await tried(async () => {
    const state = await ask("state");
    await show(state);
    if (!location.hash && state.table) location.hash = "columns";
    follow(false);
    if (state.job?.state === "running") await watch(state, showJob);
  });
}

function listen() {
  byId("open-form").addEventListener("submit", (event) => { event.preventDefault(); tried(openTable); });
  byId("save-schema").addEventListener("submit", (event) => { event.preventDefault(); tried(saveSchema); });
  listenExploring(showJob);
  listenPublishing(showJob);
  listenComparing();
  window.addEventListener("hashchange", () => { calm(); follow(true); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
}

// ----- steps

/** Shows the step that the address names. */
function follow(moving) {
  const asked = location.hash.slice(1);
  const step = page.open && STEPS.includes(asked) ? asked : "open";
  for (const name of STEPS) byId(`step-${name}`).hidden = name !== step;
  for (const link of byId("steps").children) {
    const name = link.hash.slice(1);
    if (name === step) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
    link.hidden = !page.open && name !== "open";
  }
  byId("tip").hidden = true;
  if (moving) byId(`${step}-heading`).focus();
  window.scrollTo(0, 0);
}

function go(step) {
  if (location.hash === `#${step}`) follow(true);
  else location.hash = step;
}

// ----- what is known

async function show(state) {
  page.open = Boolean(state.table);
  byId("here").textContent = state.here;
  if (!state.table) return;
  byId("what").textContent = `${state.table.name}: ${number(state.table.rows)} rows`;
  document.title = `${state.table.name} – the desk`;
  offerMethods(state.methods, (point) => { take(point); go("publish"); });
  offerPublishing(state.methods);
  showCommand("open-command", state.table.commands);
  showColumns(state.table.columns);
  showExploration(state.exploration);
  showReleases(state.releases);
  offerReleases(state.releases);
  showEffect(state).catch(complain);
}

function showJob(told) {
  if (told.exploration) showExploration(told.exploration);
  if (told.releases) {
    showReleases(told.releases);
    offerReleases(told.releases);
  }
}

// ----- opening and saving

async function openTable() {
  const file = byId("file").files[0];
  const path = byId("path").value.trim();
  const told = { schema: byId("schema-file").value.trim(), reading: reading() };
  if (!file && !path) return complain({ message: "Nothing is chosen yet", hint: "Choose a file, or write its path" });
  const state = await logged("open", "open", () => (file ? upload(file, told) : ask("open", { path, ...told })));
  byId("file").value = "";
  await show(state);
  say(`${state.table.name} is open: ${state.table.columns.length} columns, ${number(state.table.rows)} rows.`);
  return go("columns");
}

function reading() {
  const texts = (id) => byId(id).value.split(",").map((part) => part.trim()).filter(Boolean);
  const names = texts("names");
  return { missing: texts("missing"), encoding: byId("encoding").value.trim(), decimal: byId("decimal").value,
    day_first: byId("day-first").checked, header: byId("is-header").checked, names: names.length ? names : null };
}

async function saveSchema() {
  const path = byId("schema-path").value.trim();
  const place = byId("schema-saved");
  let found;
  try {
    found = await ask("save-schema", { path });
  } catch (trouble) {
    if (trouble.code !== "exists" || !window.confirm(`${path} exists. Replace it?`)) throw trouble;
    found = await ask("save-schema", { path, force: true });
  }
  place.textContent = `Saved as ${found.path}; commands use it from now on.`;
  return showEffect(found);
}
