// Points on a plane: a grid on which a circle or a rectangle is drawn, and cells are counted.
//
// Nothing is fetched but answers of the database: the map is a square between the ends of both public
// domains. A point is offered beside the attributes as one of the kind "point"; its condition is
// {circle: {x, y, radius}}. A rectangle is a range of each of its two columns.

import { askMany } from "./api.js";
import { fill, make, makeSvg } from "./dom.js";
import { about, number } from "./format.js";
import { COUNT, toBody } from "./question.js";
import { called } from "./words.js";

const SIDE = 320; // of the square, in its own units
const CELLS = 12; // along each side
const FIELDS = [["x", "middle"], ["y", "middle"], ["radius", "how far"]];

/** The points of a database, as attributes of a kind of their own. */
export function pointsOf({ points = {}, attributes }) {
  return Object.entries(points).map(([name, columns]) => {
    const [x, y] = columns.map((column) => attributes.find((one) => one.name === column));
    return { name, role: "quasi", kind: "point", x, y, size: 0 };
  });
}

/** The widget of a point. `place` tells what else is asked: {database, question, ranged}. */
export function pointWidget(point, id, condition, changed, place) {
  const plane = planeOf(point);
  const now = { ...condition?.circle };
  const shape = makeSvg("g", { class: "drawn" });
  const cells = makeSvg("g", { class: "cells" });
  const told = make("p", { class: "soft small", role: "status" });
  const fields = FIELDS.map(([name, words]) => field(id, name, name === "radius" ? words : `${words}, ${called(point[name].name)}`, now, () => tell()));
  const whole = () => FIELDS.every(([name]) => typeof now[name] === "number" && Number.isFinite(now[name])) && now.radius >= 0;
  const draw = () => {
    fill(shape, whole() ? makeSvg("ellipse", { cx: plane.right(now.x), cy: plane.down(now.y), rx: now.radius * plane.wide, ry: now.radius * plane.high }) : null);
    fields.forEach((one) => one.show());
  };
  const tell = () => {
    draw();
    changed(whole() ? { circle: { ...now } } : null);
  };
  const kinds = ["circle", "rectangle"].map((kind) =>
    make("label", { class: "tick" }, make("input", { type: "radio", name: `${id}-shape`, value: kind, checked: kind === "circle" }), make("span", { text: `Draw a ${kind}` })));
  const svg = makeSvg("svg", { class: "plane", viewBox: `-1 -1 ${SIDE + 2} ${SIDE + 2}`, role: "img", "aria-label": `${called(point.name)}: ${called(point.x.name)} to the right, ${called(point.y.name)} upwards` },
    makeSvg("rect", { class: "ground", width: SIDE, height: SIDE }), cells, lines(), shape);
  drawing(svg, plane, () => kinds[0].querySelector("input").checked, {
    circle: (x, y, radius) => { Object.assign(now, { x, y, radius }); tell(); },
    rectangle: (xs, ys) => place.ranged([[point.x, xs.map(stepped(point.x))], [point.y, ys.map(stepped(point.y))]]),
  });
  const count = make("button", { type: "button", class: "plain", text: "Count the cells", onclick: () => counted(point, plane, cells, told, count, place) });
  draw();
  return make("div", { class: "map" },
    make("div", { class: "row wrap", role: "radiogroup", "aria-label": "What is drawn" }, kinds),
    svg,
    make("p", { class: "soft small scale" }, make("span", { text: `${called(point.x.name)}: ${number(point.x.min)} to ${number(point.x.max)}` }),
      make("span", { text: `${called(point.y.name)}: ${number(point.y.min)} to ${number(point.y.max)}` })),
    make("div", { class: "ends" }, fields.map((one) => one.element)), make("div", { class: "row" }, count), told);
}

/** From values to places in the square, and back. */
function planeOf({ x, y }) {
  const [across, along] = [x.max - x.min || 1, y.max - y.min || 1];
  const wide = SIDE / across;
  const high = SIDE / along;
  return {
    wide, high, across, along,
    right: (value) => (value - x.min) * wide,
    down: (value) => SIDE - (value - y.min) * high,
    x: (right) => x.min + right / wide,
    y: (down) => y.min + (SIDE - down) / high,
  };
}

function field(id, name, words, now, changed) {
  const input = make("input", {
    id: `${id}-${name}`, type: "number", step: "any", value: now[name] ?? "", autocomplete: "off", ...(name === "radius" ? { min: "0" } : {}),
    oninput: () => { now[name] = input.value.trim() === "" ? "" : Number(input.value); changed(); },
  });
  const show = () => { if (document.activeElement !== input) input.value = now[name] ?? ""; };
  return { element: make("label", { for: input.id }, make("span", { text: words }), input), show };
}

function lines() {
  const step = SIDE / CELLS;
  const ends = Array.from({ length: CELLS + 1 }, (_, i) => i * step);
  return makeSvg("path", { class: "lines", d: ends.map((at) => `M0 ${at}H${SIDE}M${at} 0V${SIDE}`).join("") });
}

/** A drag from the middle makes a circle, from corner to corner a rectangle. */
function drawing(svg, plane, isCircle, made) {
  let start = null;
  const at = (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [place.x, place.y].map((one) => Math.min(SIDE, Math.max(0, one)));
  };
  svg.addEventListener("pointerdown", (event) => { start = at(event); svg.setPointerCapture(event.pointerId); event.preventDefault(); });
  svg.addEventListener("pointercancel", () => { start = null; });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const [[x0, y0], [x1, y1]] = [start, at(event)];
    start = null;
    const [a, b, c, d] = [plane.x(x0), plane.y(y0), plane.x(x1), plane.y(y1)];
    const fine = (value, of) => rounded(value, of / 1000);
    if (isCircle()) made.circle(fine(a, plane.across), fine(b, plane.along), fine(Math.hypot(c - a, d - b), plane.across));
    else made.rectangle([a, c].sort(ascending).map((one) => fine(one, plane.across)), [b, d].sort(ascending).map((one) => fine(one, plane.along)));
  });
}

/** The field of a column between whole numbers takes whole numbers. */
const stepped = ({ min, max }) => (Number.isInteger(min) && Number.isInteger(max) ? Math.round : (value) => value);

const ascending = (a, b) => a - b;

/** A number with no more digits than a step of that size deserves. */
export function rounded(value, step) {
  const unit = 10 ** Math.floor(Math.log10(step));
  return Number((Math.round(value / unit) * unit).toPrecision(12));
}

/** The cells of the grid as questions: what is asked already, and a range of each column. */
function questionsOf(point, question) {
  const where = new Map([...question.where].filter(([name]) => ![point.name, point.x.name, point.y.name].includes(name)));
  const ends = [point.x, point.y].map(({ min, max }) => Array.from({ length: CELLS + 1 }, (_, i) => min + ((max - min) * i) / CELLS));
  return Array.from({ length: CELLS * CELLS }, (_, cell) => {
    const [column, row] = [cell % CELLS, Math.floor(cell / CELLS)];
    const own = { ...question, measure: COUNT, by: [], where };
    const { query } = toBody(own);
    for (const [{ name }, { line, i }] of [[point.x, { line: ends[0], i: column }], [point.y, { line: ends[1], i: row }]]) {
      const from = { ">=": line[i] };
      query.where[name] = { both: [from, { [i === CELLS - 1 ? "<=" : "<"]: line[i + 1] }] };
    }
    return { column, row, body: { query } };
  });
}

/** Ask about all cells at once, and shade them by what may be in them. */
async function counted(point, plane, cells, told, button, place) {
  const asked = questionsOf(point, place.question());
  button.disabled = true;
  told.textContent = "Counting …";
  try {
    const { results } = await askMany(place.database(), asked.map((one) => one.body));
    const failed = results.find((one) => one.error);
    if (failed) throw new Error(failed.error.message);
    const counts = results.map((one) => one.rows[0].answers.count);
    const most = Math.max(1, ...counts.map((one) => one.estimate));
    const step = SIDE / CELLS;
    fill(cells, asked.map(({ column, row }, i) =>
      makeSvg("rect", { class: "cell", x: column * step, y: SIDE - (row + 1) * step, width: step, height: step, "fill-opacity": ((0.85 * counts[i].estimate) / most).toFixed(3), "data-lo": counts[i].lo, "data-hi": counts[i].hi },
        makeSvg("title", {}, `${number(counts[i].lo)} to ${number(counts[i].hi)} people`))));
    told.textContent = `Each cell is an answer of its own; the darkest has about ${about(counts.find((one) => one.estimate === most) ?? counts[0])} people. Point at a cell for its range.`;
  } catch (trouble) {
    told.textContent = `The cells were not counted: ${trouble.message}`;
  } finally {
    button.disabled = false;
  }
}
