// Intervals as pictures: brackets around where the number is. What nobody vouches for, the place of
// an even spread inside each group, is marked only when asked for (`even`).

import { make, makeSvg } from "./dom.js";
import { about, dayOf, endsOf, isDay, isExact, isMoment, label, number, numberOf } from "./format.js";

/** A picture that is drawn again when its width changes. */
export function responsive(className, draw) {
  const box = make("div", { class: className });
  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width < 1 || width === last) return;
    last = width;
    box.replaceChildren(draw(width));
  }).observe(box);
  return box;
}

/** One interval on a line from zero (or from before its lower end) to a round number. */
export function intervalBar(answer, name, even) {
  return responsive("interval", (width) => {
    const [lo, hi, estimate] = [answer.lo, answer.hi, answer.estimate].map(numberOf);
    const dated = typeof answer.lo !== "number";
    const scale = scaleOf([lo, hi], dated, Math.max(3, Math.floor(width / 110)));
    const at = placer(scale, 14, width - 14);
    const marked = even && !isExact(answer);
    const svg = picture(width, marked ? 118 : 100, told(name, answer, even));
    drawAxis(svg, scale, at, 72, 96, dated, 30);
    const left = at(lo);
    const right = Math.max(at(hi), left + 2);
    drawEnds(svg, endsOf(answer), left, right, width);
    if (isExact(answer)) {
      svg.append(cap(left, 36, 70), dot(left, 53, 6));
      return svg;
    }
    svg.append(...bracketed(left, right, 53, 15));
    if (marked) {
      svg.append(
        diamond(at(estimate), 53, 7),
        text(clamp(at(estimate), 75, width - 75), 116, `spread evenly: ${about(answer)}`, "estimate-label", "middle"),
      );
    }
    return svg;
  });
}

function drawEnds(svg, [lo, hi], left, right, width) {
  const space = (word) => word.length * 11.5; // of the widest usual font
  if (hi === undefined) {
    svg.append(text(clamp((left + right) / 2, space(lo) / 2, width - space(lo) / 2), 26, lo, "bound", "middle"));
    return;
  }
  // the labels stand on their ends, or move apart as far as they need
  const [half, otherHalf] = [space(lo) / 2, space(hi) / 2];
  const apart = half + otherHalf + 14;
  let first = clamp(left, half, width - half);
  let second = clamp(right, otherHalf, width - otherHalf);
  if (second - first < apart) {
    second = clamp((first + second + apart) / 2, half + apart, width - otherHalf);
    first = second - apart;
  }
  svg.append(text(first, 26, lo, "bound", "middle"), text(second, 26, hi, "bound", "middle"));
}

/** Groups one below the other. Rows: {keys: [..], answer}; those that are not `sure` are grey. */
export function rowsChart(rows, name, { even, sure }) {
  return responsive("chart", (width) => {
    const narrow = width < 520;
    const dated = rows.some((row) => typeof row.answer.lo === "string");
    const lines = lined(rows);
    const longest = Math.max(...rows.map((row) => label(row.keys.at(-1)).length));
    const side = narrow ? 0 : clamp(longest * 7.4 + 16, 60, Math.min(width * 0.4, 260));
    const scale = scaleOf(ends(rows), dated, Math.max(3, Math.floor((width - side) / 90)));
    const at = placer(scale, narrow ? 3 : side + 8, width - 16);
    const rowHeight = narrow ? 42 : 26;
    const heights = lines.map((line) => (line.heading === undefined ? rowHeight : 34));
    const bottom = 26 + heights.reduce((sum, height) => sum + height, 0);
    const svg = picture(width, bottom + 6, `${name}: ${rows.length} groups, as ranges`);
    drawAxis(svg, scale, at, bottom, 14, dated, 22);
    let y = 26;
    lines.forEach((line, place) => {
      if (line.heading !== undefined) svg.append(text(0, y + 24, line.heading, "group-heading", "start"));
      else drawRow(svg, line, at, y, { narrow, side, width, even, sure });
      y += heights[place];
    });
    return svg;
  });
}

function drawRow(svg, row, at, y, { narrow, side, width, even, sure }) {
  const middle = narrow ? y + 30 : y + 13;
  const words = label(row.keys.at(-1));
  const room = narrow ? width : side - 6;
  const shownWords = cut(words, Math.floor(room / 7.1));
  const tag = narrow ? text(6, y + 15, shownWords, "row-label", "start") : text(side - 6, middle + 4, shownWords, "row-label", "end");
  const group = makeSvg("g", { class: sure.has(row) ? "row" : "row unsure" },
    makeSvg("title", { text: told(words, row.answer, even) }), tag);
  if (row.answer.lo !== null) group.append(...errorBar(at, row.answer, middle, even));
  else group.append(text(at.start, middle + 4, "nobody can qualify", "soft-label", "start"));
  svg.append(group);
}

function errorBar(at, answer, y, even) {
  const left = at(numberOf(answer.lo));
  if (isExact(answer)) return [dot(left, y, 4.5)];
  const right = Math.max(at(numberOf(answer.hi)), left + 1.5);
  return [...bracketed(left, right, y, 8), ...(even ? [diamond(at(numberOf(answer.estimate)), y, 4.5)] : [])];
}

/** Brackets around a pale band: the number is somewhere inside. */
function bracketed(left, right, y, half) {
  const foot = Math.min(5, (right - left) / 2);
  const bracket = (x, inwards) => makeSvg("path", { class: "cap", d: `M${x + inwards} ${y - half}H${x}V${y + half}H${x + inwards}` });
  return [
    makeSvg("rect", { class: "range", x: left, y: y - half + 3, width: right - left, height: 2 * half - 6 }),
    bracket(left, foot),
    bracket(right, -foot),
  ];
}

/** Groups side by side along the values of a number or a day. */
export function columnsChart(rows, name, attribute, { even, sure }) {
  return responsive("chart", (width) => {
    const height = 300;
    const places = rows.map((row) => numberOf(row.keys[0]));
    const dated = isDay(rows[0].keys[0]) || isMoment(rows[0].keys[0]);
    const scale = scaleOf(ends(rows), rows.some((row) => typeof row.answer.lo === "string"), 5);
    const side = 14 + 7.5 * Math.max(...scale.ticks.map((tick) => tick.words.length));
    const across = { lo: Math.min(...places), hi: Math.max(...places) };
    const step = (width - side - 24) / Math.max(1, rows.length - 1);
    const x = placer(across, side + 12, width - 12);
    const y = placer(scale, height - 40, 14);
    const svg = picture(width, height, `${name}: ${rows.length} groups, as ranges`);
    for (const tick of scale.ticks) {
      svg.append(
        makeSvg("line", { class: "grid", x1: side, x2: width, y1: y(tick.value), y2: y(tick.value) }),
        text(side - 8, y(tick.value) + 4, tick.words, "tick", "end"),
      );
    }
    for (const tick of ticksOf(across, dated, Math.max(3, Math.floor(width / 80)))) {
      svg.append(text(clamp(x(tick.value), side + 8, width - 30), height - 20, dated ? tick.words : String(tick.value), "tick", "middle"));
    }
    svg.append(text(width / 2, height - 3, attribute, "soft-label", "middle"));
    rows.forEach((row, place) => svg.append(drawColumn(row, x(places[place]), y, clamp(step * 0.62, 1.2, 13), even, sure)));
    return svg;
  });
}

function drawColumn(row, x, y, wide, even, sure) {
  const group = makeSvg("g", { class: sure.has(row) ? "row" : "row unsure" },
    makeSvg("title", { text: told(label(row.keys[0]), row.answer, even) }));
  if (row.answer.lo === null) return group;
  const [low, high] = [y(numberOf(row.answer.lo)), y(numberOf(row.answer.hi))];
  if (isExact(row.answer)) {
    group.append(dot(x, low, clamp(wide * 0.5, 1.8, 4.5)));
    return group;
  }
  // a thin stem between two ends: no bar, whose length would be read as the number
  group.append(makeSvg("rect", { class: "range", x: x - wide / 8, y: high, width: Math.max(1, wide / 4), height: Math.max(1.5, low - high) }));
  for (const end of [low, high]) {
    group.append(makeSvg("line", { class: "cap", x1: x - wide / 2, x2: x + wide / 2, y1: end, y2: end }));
  }
  if (!even) return group;
  const estimate = y(numberOf(row.answer.estimate));
  group.append(wide < 6 ? makeSvg("circle", { class: "estimate tiny", cx: x, cy: estimate, r: 1.6 }) : diamond(x, estimate, clamp(wide * 0.42, 2.5, 4.5)));
  return group;
}

/** Whether the groups lie on a line, and are many; the one of the unknown has no place there. */
export function onLine(rows, by) {
  const placed = rows.filter((row) => row.keys[0] !== null);
  return by.length === 1 && placed.length > 12 && placed.every((row) => Number.isFinite(numberOf(row.keys[0])));
}

function lined(rows) {
  let before;
  return rows.flatMap((row) => {
    if (row.keys.length < 2) return [row];
    const heading = row.keys.slice(0, -1).map(label).join(" · ");
    const changed = heading !== before;
    before = heading;
    return changed ? [{ heading }, row] : [row];
  });
}

const told = (words, answer, even) =>
  answer.lo === null
    ? `${words}: nobody can qualify`
    : isExact(answer)
      ? `${words}: exactly ${endsOf(answer)[0]}`
      : `${words}: from ${endsOf(answer).join(" to ")}${even ? `, spread evenly ${about(answer)}` : ""}`;

const ends = (rows) =>
  rows.flatMap((row) => (row.answer.lo === null ? [] : [numberOf(row.answer.lo), numberOf(row.answer.hi)]));

// ----- scales

const DAY = 864e5;

/** From zero where that makes sense, with round steps. */
function scaleOf(values, dated, most) {
  if (!values.length) return { lo: 0, hi: 1, ticks: [] };
  let [lo, hi] = [Math.min(...values), Math.max(...values)];
  if (!dated) [lo, hi] = [Math.min(lo, 0), Math.max(hi, 0)];
  if (lo === hi) hi = lo + (dated ? DAY : 1);
  if (dated) return { lo, hi, ticks: ticksOf({ lo, hi }, true, most) };
  const whole = values.every(Number.isInteger);
  const step = Math.max(whole ? 1 : 0, roundStep(hi - lo, most));
  const round = { lo: Math.floor(lo / step) * step, hi: Math.ceil(hi / step) * step };
  return { ...round, ticks: ticksOf(round, false, most, step) };
}

function ticksOf({ lo, hi }, dated, most, fixed) {
  if (dated && hi - lo > 400 * DAY) return yearTicks(lo, hi, most);
  const unit = dated ? DAY : 1;
  const rough = roundStep((hi - lo) / unit, most);
  const step = fixed ?? (dated ? Math.max(1, rough) : rough) * unit;
  const found = [];
  for (let value = Math.ceil(lo / step) * step; value <= hi + step * 1e-9; value += step) {
    const tidy = Number(value.toPrecision(12));
    found.push({ value: tidy, words: dated ? dayOf(tidy) : number(tidy) });
  }
  return found;
}

function yearTicks(lo, hi, most) {
  const [first, last] = [lo, hi].map((moment) => new Date(moment).getUTCFullYear());
  const step = Math.max(1, roundStep(last - first, most));
  const found = [];
  for (let year = Math.ceil(first / step) * step; year <= last; year += step) {
    const value = Date.UTC(year, 0, 1);
    if (value >= lo) found.push({ value, words: String(year) });
  }
  return found;
}

function roundStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const factors = power >= 10 ? [1, 2, 2.5, 5, 10] : [1, 2, 5, 10];
  const factor = factors.find((one) => one * power >= rough) ?? 10;
  return factor * power;
}

function placer({ lo, hi }, start, end) {
  const at = (value) => start + ((value - lo) / (hi - lo || 1)) * (end - start);
  at.start = Math.min(start, end);
  at.end = Math.max(start, end);
  return at;
}

// ----- marks

function picture(width, height, words) {
  return makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
}

function drawAxis(svg, scale, at, bottom, labelAt, dated, top) {
  const last = scale.ticks.length - 1;
  scale.ticks.forEach((tick, place) => {
    const x = at(tick.value);
    const half = tick.words.length * 3.6;
    svg.append(
      makeSvg("line", { class: tick.value === 0 && !dated ? "axis" : "grid", x1: x, x2: x, y1: top, y2: bottom }),
      text(place === last ? Math.min(x, at.end + 14 - half) : Math.max(x, half), labelAt, tick.words, "tick", "middle"),
    );
  });
}

const cap = (x, top, bottom) => makeSvg("line", { class: "cap", x1: x, x2: x, y1: top, y2: bottom });

const diamond = (x, y, size) =>
  makeSvg("path", { class: "estimate", d: `M${x} ${y - size}L${x + size} ${y}L${x} ${y + size}L${x - size} ${y}Z` });

const dot = (x, y, r) => makeSvg("circle", { class: "exact", cx: x, cy: y, r });

const text = (x, y, words, className, anchor) =>
  makeSvg("text", { x, y, class: className, "text-anchor": anchor, text: words });

const clamp = (value, low, high) => Math.max(low, Math.min(value, Math.max(low, high)));

const cut = (words, most) => (words.length <= most ? words : `${words.slice(0, Math.max(1, most - 1))}…`);
