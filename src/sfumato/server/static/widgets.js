// One condition at a time: a slider with two handles, or a list to tick.

import { make } from "./dom.js";
import { dayOf, kindOf, label, numberOf } from "./format.js";
import { called, valueWords } from "./words.js";

const DAY = 864e5;
const LONG_LIST = 8; // values; longer lists can be searched

/** The widget of an attribute; `changed` is told the condition, or null for none. */
export function conditionWidget(attribute, id, condition, changed) {
  if (attribute.kind === "numerical") return rangeWidget(attribute, id, condition, changed);
  if (attribute.values?.length > 2 && attribute.ordered) return classesWidget(attribute, id, condition, changed);
  if (attribute.values) return listWidget(attribute, id, condition, changed);
  return textWidget(attribute, id, condition, changed);
}

// ----- ranges

function rangeWidget(attribute, id, condition, changed) {
  const now = { from: "", to: "", unknown: false, ...condition };
  const kind = kindOf(attribute.min);
  const tell = () => changed(now.from === "" && now.to === "" && !now.unknown ? null : { ...now });
  const fields = ["from", "to"].map((end) => endField(attribute, kind, id, end, now, () => { slide?.show(); tell(); }));
  const slide = kind === "number" || kind === "day" ? slider(attribute, kind, now, () => { fields.forEach((field) => field.show()); tell(); }) : null;
  return make(
    "div",
    { class: "range-widget" },
    slide?.element,
    make("div", { class: "ends" }, fields.map((field) => field.element)),
    attribute.has_missing
      ? tick(`${id}-unknown`, "or unknown", now.unknown, (on) => { now.unknown = on; tell(); })
      : null,
  );
}

function endField(attribute, kind, id, end, now, changed) {
  const limit = end === "from" ? attribute.min : attribute.max;
  const type = { number: "number", day: "date" }[kind] ?? "text";
  const whole = Number.isInteger(attribute.min) && Number.isInteger(attribute.max);
  const input = make("input", {
    id: `${id}-${end}`, type, value: now[end], placeholder: String(limit), autocomplete: "off",
    ...(kind === "number" ? { step: whole ? "1" : "any", inputmode: whole ? "numeric" : "decimal" } : {}),
    ...(kind === "day" ? { min: attribute.min, max: attribute.max } : {}),
    oninput: () => {
      const empty = input.value.trim() === "";
      now[end] = empty ? "" : kind === "number" ? Number(input.value) : input.value.trim();
      changed();
    },
  });
  // a field for dates cannot show where the domain ends
  const words = kind === "number" ? end : `${end} (${label(limit)})`;
  const element = make("label", { for: input.id }, make("span", { text: words }), input);
  return { element, show: () => { input.value = now[end]; } };
}

/** Two handles on one track. A handle at its end of the track stands for no limit. */
function slider(attribute, kind, now, changed, shown = label) {
  const { lo, hi, step, toPlace, toValue } = track(attribute, kind);
  const handles = ["from", "to"].map((end) =>
    make("input", {
      type: "range", min: lo, max: hi, step, "aria-label": `${called(attribute.name)}, ${end}`,
      oninput: () => moved(end),
    }),
  );
  const element = make("div", { class: "slider" }, make("div", { class: "track" }), handles);
  const [low, high] = handles;
  const place = (end) => (now[end] === "" ? (end === "from" ? lo : hi) : toPlace(now[end]));

  function show() {
    low.value = place("from");
    high.value = place("to");
    const share = (handle) => (hi > lo ? (Number(handle.value) - lo) / (hi - lo) : 0);
    element.style.setProperty("--from", share(low));
    element.style.setProperty("--to", share(high));
    // where both stand at the right end only the left handle can move
    low.classList.toggle("above", share(low) > 0.5);
    handles.forEach((handle) => handle.setAttribute("aria-valuetext", shown(toValue(Number(handle.value)))));
  }

  function moved(end) {
    const [own, other] = end === "from" ? [low, high] : [high, low];
    const crossed = end === "from" ? Number(own.value) > Number(other.value) : Number(own.value) < Number(other.value);
    if (crossed) other.value = own.value;
    now.from = Number(low.value) <= lo ? "" : toValue(Number(low.value));
    now.to = Number(high.value) >= hi ? "" : toValue(Number(high.value));
    show();
    changed();
  }

  show();
  return { element, show };
}

function track(attribute, kind) {
  if (kind === "day") {
    const [lo, hi] = [attribute.min, attribute.max].map((day) => numberOf(day) / DAY);
    return { lo, hi, step: 1, toPlace: (day) => numberOf(day) / DAY, toValue: (place) => dayOf(place * DAY) };
  }
  const { min, max } = attribute;
  if (Number.isInteger(min) && Number.isInteger(max)) {
    return { lo: min, hi: max, step: 1, toPlace: (value) => value, toValue: (place) => place };
  }
  // fractions: some hundred places, at round values inside the domain
  const step = 10 ** Math.floor(Math.log10((max - min) / 100 || 1));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return {
    lo: Math.floor(min / step) , hi: Math.ceil(max / step), step: 1,
    toPlace: (value) => value / step, toValue: (place) => Number((place * step).toFixed(digits)),
  };
}

// ----- classes in an order

/** A slider over the classes; single ones can be ticked below. */
function classesWidget(attribute, id, condition, changed) {
  const { values } = attribute;
  const shown = (value) => valueWords(attribute.name, value);
  const places = { ...attribute, min: 0, max: values.length - 1 };
  const now = spanOf(values, condition);
  const words = make("p", { class: "soft small" });
  const list = make("div");
  const say = () => {
    const [from, to] = [now.from === "" ? 0 : now.from, now.to === "" ? values.length - 1 : now.to];
    words.textContent = `${shown(values[from])} to ${shown(values[to])}`;
  };
  const tell = (wanted) => { changed(wanted); list.replaceChildren(listWidget(attribute, id, wanted, ticked)); };
  const ticked = (wanted) => { Object.assign(now, spanOf(values, wanted)); slide.show(); say(); changed(wanted); };
  const slide = slider(places, "number", now, () => {
    say();
    const [from, to] = [now.from === "" ? 0 : now.from, now.to === "" ? values.length - 1 : now.to];
    tell(from === 0 && to === values.length - 1 ? null : { values: values.slice(from, to + 1) });
  }, (place) => shown(values[place]));
  list.append(listWidget(attribute, id, condition, ticked));
  say();
  return make("div", { class: "range-widget" }, slide.element, words,
    make("details", { class: "small" }, make("summary", { text: "Tick single values" }), list));
}

/** The places of the first and the last wanted class, "" where there is no limit. */
function spanOf(values, condition) {
  const found = (condition?.values ?? []).map((value) => values.indexOf(value)).filter((place) => place >= 0);
  if (!found.length) return { from: "", to: "" };
  const [from, to] = [Math.min(...found), Math.max(...found)];
  return { from: from === 0 ? "" : from, to: to === values.length - 1 ? "" : to };
}

// ----- lists

function listWidget(attribute, id, condition, changed) {
  const wanted = new Set(condition?.values ?? []);
  const choices = [...attribute.values, ...(attribute.has_missing ? [null] : [])];
  const tell = () => changed(wanted.size ? { values: choices.filter((value) => wanted.has(value)) } : null);
  const ticks = choices.map((value, place) =>
    tick(`${id}-${place}`, value === null ? "unknown" : valueWords(attribute.name, value), wanted.has(value), (on) => {
      if (on) wanted.add(value);
      else wanted.delete(value);
      tell();
    }),
  );
  const list = make("div", { class: "ticks", role: "group", "aria-label": `Values of ${called(attribute.name)}` }, ticks);
  if (choices.length <= LONG_LIST) return list;
  const nothing = make("p", { class: "soft small", text: "No value like this.", hidden: true });
  const search = make("input", {
    type: "search", placeholder: `Search ${choices.length.toLocaleString("en-US")} values`, autocomplete: "off",
    "aria-label": `Search the values of ${called(attribute.name)}`,
    oninput: () => {
      const text = search.value.trim().toLowerCase();
      ticks.forEach((one) => { one.hidden = !one.textContent.toLowerCase().includes(text); });
      nothing.hidden = ticks.some((one) => !one.hidden);
    },
    // Enter would ask the whole question
    onkeydown: (event) => { if (event.key === "Enter") event.preventDefault(); },
  });
  list.classList.add("long");
  return make("div", {}, search, list, nothing);
}

function tick(id, words, checked, changed) {
  const box = make("input", { type: "checkbox", id, checked, onchange: () => changed(box.checked) });
  return make("label", { class: "tick", for: id }, box, make("span", { text: words }));
}

/** Too many values to list: one per line. */
function textWidget(attribute, id, condition, changed) {
  const area = make("textarea", {
    id, rows: 3, spellcheck: "false", value: (condition?.values ?? []).join("\n"),
    oninput: () => {
      const values = area.value.split("\n").map((line) => line.trim()).filter(Boolean);
      changed(values.length ? { values } : null);
    },
  });
  const words = `Wanted values, one per line (of ${attribute.size.toLocaleString("en-US")})`;
  return make("div", {}, make("label", { for: id, text: words }), area);
}
