// The form that picks a question: what, about whom, split by what.

import { byId, fill, make } from "./dom.js";
import { kindOf, label } from "./format.js";
import { pointWidget } from "./map.js";
import { COUNT, MEASURES, conditionWords, empty, groupCount, quoted } from "./question.js";
import { conditionWidget } from "./widgets.js";
import { called, valueWords } from "./words.js";

const MANY = 10; // attributes; more can be searched

export class Builder {
  constructor() {
    this.attributes = [];
    this.question = empty();
    byId("measure").addEventListener("change", () => this.#measured());
    byId("by-1").addEventListener("change", () => this.#split());
    byId("by-2").addEventListener("change", () => this.#split());
    byId("find-attribute").addEventListener("input", () => this.#find());
    byId("find-attribute").addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault();
    });
  }

  /** Offer the attributes of a database. */
  offer(attributes, database) {
    this.attributes = attributes;
    this.database = database;
    byId("find-attribute").hidden = attributes.length <= MANY;
    byId("find-attribute").value = "";
    this.#offerMeasures();
    fill(byId("columns"), make("ul", { class: "column-list" }, attributes.filter((one) => one.kind !== "point").map((one) => this.#column(one))));
    this.show(empty());
  }

  /** Show a question that was picked before. */
  show(question) {
    this.question = { ...question, where: new Map(question.where), by: [...question.by] };
    fill(byId("attributes"), this.attributes.map((one, place) => this.#attribute(one, place)));
    byId("measure").value = measureKey(question.measure);
    this.#offerSplits();
    this.#find();
  }

  #offerMeasures() {
    const groups = this.attributes.filter((one) => one.role === "sensitive" && one.kind === "numerical").map((one) => {
      const computed = kindOf(one.min) === "number" ? ["avg", "sum", "min", "max"] : ["min", "max"];
      return make("optgroup", { label: called(one.name) }, computed.map((name) =>
        make("option", { value: `${name}:${one.name}`, text: measureWords(name, one.name) })));
    });
    fill(byId("measure"), make("option", { value: "count", text: "How many people there are" }), groups);
  }

  #measured() {
    const [name, ...of] = byId("measure").value.split(":");
    this.question.measure = of.length ? { function: name, of: of.join(":") } : COUNT;
  }

  #attribute(attribute, place) {
    const id = `attribute-${place}`;
    const state = make("span", { class: "state" });
    const body = make("div", { class: "body" });
    const clear = make("button", {
      type: "button", class: "clear", text: "×", title: "Clear", "aria-label": `Clear the condition on ${called(attribute.name)}`,
      onclick: () => {
        this.question.where.delete(attribute.name);
        draw();
        box.querySelector("summary").focus();
      },
    });
    const show = () => {
      const condition = this.question.where.get(attribute.name);
      state.textContent = condition ? conditionWords(condition, 3, attribute.name) : "any";
      box.classList.toggle("set", Boolean(condition));
      clear.hidden = !condition;
      this.#note();
    };
    const changed = (condition) => {
      if (condition) this.question.where.set(attribute.name, condition);
      else this.question.where.delete(attribute.name);
      show();
    };
    const draw = () => {
      const widget = attribute.kind === "point" ? pointWidget : conditionWidget;
      fill(body, widget(attribute, id, this.question.where.get(attribute.name), changed, this.#place(attribute)));
      show();
    };
    const box = make(
      "div",
      { class: "attribute", "data-name": attribute.name, "data-words": called(attribute.name) },
      make("details", { open: this.question.where.has(attribute.name) },
        make("summary", {}, make("span", { class: "name", text: called(attribute.name) }),
          attribute.role === "sensitive" ? make("span", { class: "badge", text: "protected" }) : null, state),
        body),
      clear,
    );
    draw();
    return box;
  }

  /** What a map has to know of the rest of the question. */
  #place(point) {
    return {
      database: () => this.database,
      question: () => this.question,
      ranged: (ranges) => {
        this.question.where.delete(point.name);
        for (const [{ name }, [from, to]] of ranges) this.question.where.set(name, { from, to, unknown: false });
        this.show(this.question);
      },
    };
  }

  #offerSplits() {
    const [first, second] = this.question.by;
    const options = (chosen, without, nothing) => [
      make("option", { value: "", text: nothing }),
      ...this.attributes.filter((one) => one.name !== without && one.kind !== "point").map((one) =>
        make("option", { value: one.name, selected: one.name === chosen, text: `${called(one.name)} (${one.size.toLocaleString("en-US")})` })),
    ];
    fill(byId("by-1"), options(first, undefined, "nothing: one answer"));
    fill(byId("by-2"), options(second, first, "and by nothing else"));
    byId("by-2").hidden = !first;
    this.#note();
  }

  #split() {
    const [first, second] = [byId("by-1").value, byId("by-2").value];
    this.question.by = [first, first && second !== first ? second : ""].filter(Boolean);
    this.#offerSplits();
  }

  #note() {
    const count = groupCount(this.question, this.attributes);
    byId("groups-note").textContent = this.question.by.length ? `${count.toLocaleString("en-US")} answers` : "";
  }

  #find() {
    const text = byId("find-attribute").value.trim().toLowerCase();
    for (const box of byId("attributes").children) {
      box.hidden = ![box.dataset.name, box.dataset.words].some((one) => one.toLowerCase().includes(text));
    }
  }

  #column(attribute) {
    const domain = attribute.values
      ? `${attribute.values.slice(0, 6).map((value) => shownCode(attribute, value)).join(", ")}${attribute.values.length > 6 ? ", …" : ""}`
      : attribute.kind === "numerical" ? `${label(attribute.min)} to ${label(attribute.max)}` : `${attribute.size} values`;
    const insert = () => {
      const area = byId("sql");
      area.setRangeText(quoted(attribute.name), area.selectionStart, area.selectionEnd, "end");
      area.focus();
    };
    const own = attribute.label ? `${called(attribute.name)}: ` : "";
    return make("li", {}, make("button", { type: "button", class: "word", text: quoted(attribute.name), onclick: insert }),
      make("span", { class: "soft small", text: own + domain }));
  }
}

const measureKey = (measure) => (measure.of ? `${measure.function}:${measure.of}` : "count");

const measureWords = (name, of) => `${MEASURES[name]}${name === "sum" ? " of" : ""} ${called(of)}`;

/** A value as SQL has it, and what it is called. */
const shownCode = (attribute, value) => {
  const words = valueWords(attribute.name, value);
  return words === label(value) ? words : `${label(value)} (${words})`;
};
