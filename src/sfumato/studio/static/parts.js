// Parts that several steps use: commands to copy, small charts, progress, troubles, the log.

import { byId, copyText, fill, make, makeSvg } from "./dom.js";
import { number, percent } from "./format.js";

// ----- the log: what was done, and how long it took until it could be seen

/** Does something and writes down how long it took until its effect was painted. */
export async function logged(what, kind, work) {
  const start = performance.now();
  let failed = false;
  try {
    return await work();
  } catch (trouble) {
    failed = true;
    throw trouble;
  } finally {
    await painted();
    const ms = Math.round(performance.now() - start);
    const at = new Date().toTimeString().slice(0, 8);
    byId("log").append(make("li", { "data-kind": kind, "data-ms": ms, text: `${at} ${what}: ${number(ms)} ms${failed ? ", refused" : ""}` }));
  }
}

// a hidden tab paints nothing: then it counts as seen at once
const painted = () => new Promise((resolve) => {
  if (document.hidden) resolve();
  else requestAnimationFrame(() => setTimeout(resolve));
});

// ----- troubles

export function complain(trouble) {
  const told = [trouble.message ?? String(trouble), trouble.hint].filter(Boolean).map(ended).join(" ");
  fill(byId("trouble"), make("div", { class: "trouble" },
    make("p", { class: "trouble-title", text: "That did not work" }), make("p", { text: told })));
  byId("trouble").scrollIntoView({ block: "nearest" });
}

/** A text with a full stop; it may begin with a name, which stays as it is. */
export const ended = (text) => (text && !/[.!?:;]$/.test(text) ? `${text}.` : text ?? "");

export const calm = () => fill(byId("trouble"));

/** Does something, and shows what goes wrong on the page. */
export async function tried(work) {
  calm();
  try {
    return await work();
  } catch (trouble) {
    complain(trouble);
    return undefined;
  }
}

export const say = (words) => { byId("live").textContent = words; };

// ----- commands

let boxes = 0;

/** A closed box with a command for the shell and the same in Python. */
export function commandBox(commands, title = "Show me the command") {
  if (!commands) return null;
  const id = `command-${++boxes}`;
  const code = make("code", { text: commands.shell });
  const area = make("pre", { id: `${id}-text`, role: "tabpanel", tabindex: "0", "aria-label": "The command" }, code);
  const tabs = ["shell", "python"].map((name) => make("button", {
    type: "button", role: "tab", id: `${id}-${name}`, "aria-controls": area.id, text: name === "shell" ? "Shell" : "Python",
    onclick: () => choose(name),
    onkeydown: (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      event.preventDefault();
      choose(event.currentTarget === tabs[0] ? "python" : "shell").focus();
    },
  }));
  function choose(name) {
    code.textContent = commands[name];
    tabs.forEach((tab) => {
      const on = tab.id === `${id}-${name}`;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    });
    return tabs[name === "shell" ? 0 : 1];
  }
  choose("shell");
  const copy = make("button", { type: "button", class: "plain", text: "Copy" });
  copy.addEventListener("click", () => copyText(code.textContent, copy));
  return make("details", { class: "command" }, make("summary", { text: title }),
    make("div", { class: "heading-row" }, make("div", { class: "tabs", role: "tablist", "aria-label": "Language" }, tabs), copy), area);
}

/** Puts a box in its place again, open if the one before was. */
export function showCommand(place, commands, title) {
  const open = byId(place).querySelector("details")?.open ?? false;
  const box = commandBox(commands, title);
  if (box) box.open = open;
  fill(byId(place), box);
}

// ----- charts

const BAR = { width: 176, height: 44 };

/** A small histogram: how many rows are in each class. */
export function bars(found, name) {
  const most = Math.max(1, ...found.map((one) => one.rows));
  const step = BAR.width / Math.max(found.length, 4);
  const top = found.reduce((best, one) => (one.rows > best.rows ? one : best), found[0]);
  const drawing = makeSvg("svg", { viewBox: `0 0 ${BAR.width} ${BAR.height}`, class: "bars", role: "img",
    "aria-label": `${name}: ${found.length} classes, most rows in ${top?.label}` });
  found.forEach((one, place) => {
    const height = Math.max(one.rows ? 1.5 : 0, (BAR.height - 2) * one.rows / most);
    drawing.append(makeSvg("g", {}, makeSvg("title", { text: `${one.label}: ${number(one.rows)}` }),
      makeSvg("rect", { x: place * step, y: 0, width: step, height: BAR.height, class: "reach" }),
      makeSvg("rect", { x: place * step, y: BAR.height - height, width: Math.max(1, step - 1.5), height, class: "bar" })));
  });
  return drawing;
}

/** Shares as bars below each other: `{label, share, words}`. */
export const shareBars = (rows) => make("ul", { class: "shares" }, rows.map((one) =>
  make("li", {}, make("span", { class: "what", text: one.label }),
    makeSvg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "share", "aria-hidden": "true" },
      makeSvg("rect", { width: 100, height: 8, class: "track" }),
      makeSvg("rect", { width: Math.max(0.4, 100 * Math.min(1, one.share)), height: 8, class: "bar" })),
    make("span", { class: "figure", text: one.words }))));

/** A few figures that matter most. */
export const tiles = (found) => make("ul", { class: "tiles" }, found.map(([figure, words, bad]) =>
  make("li", { class: bad ? "bad" : null }, make("b", { text: figure }), make("span", { text: words }))));

export const list = (sentences) => make("ul", { class: "said" }, sentences.map((text) => make("li", { text })));

export const share = (value) => (value === null || value === undefined ? "–" : percent(value));

// ----- long work

/** Progress with a button that stops it. */
export function progress(job, stop) {
  const words = job.stopping ? "stopping …" : `${job.stage || "starting"} …`;
  return make("div", { class: "progress" },
    make("label", {}, make("span", { text: `${words} ${Math.round(job.seconds)} s` }),
      make("progress", { max: 1, value: job.share || null })),
    make("button", { type: "button", class: "plain", text: "Stop", disabled: job.stopping, onclick: stop }));
}
