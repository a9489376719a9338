// What intervals tell about each other: which is certainly above which, and which say too little.

import { label, number, numberOf } from "./format.js";
import { called } from "./words.js";

const WIDE = 4; // an upper end so many times the lower one says little
const FEW = 10; // people; fewer are no reason to complain

const placed = (rows) => rows.filter((row) => row.answer.lo !== null && Number.isFinite(numberOf(row.answer.lo)));

/** The rows whose place in the order is certain: their interval touches no other. */
export function certain(rows) {
  const sorted = placed(rows).sort((a, b) => numberOf(a.answer.lo) - numberOf(b.answer.lo));
  const found = new Set();
  let reached = -Infinity;
  sorted.forEach((row, place) => {
    const [lo, hi] = [numberOf(row.answer.lo), numberOf(row.answer.hi)];
    const next = place + 1 < sorted.length ? numberOf(sorted[place + 1].answer.lo) : Infinity;
    if (reached < lo && hi < next) found.add(row);
    reached = Math.max(reached, hi);
  });
  return found;
}

/** What can be said for certain about the order of groups, in a sentence; whether some are drawn in grey. */
export function orderWords(rows, grey) {
  const known = placed(rows);
  if (known.length < 2) return "";
  const top = known.reduce((a, b) => (numberOf(b.answer.lo) > numberOf(a.answer.lo) ? b : a));
  const bottom = known.reduce((a, b) => (numberOf(b.answer.hi) < numberOf(a.answer.hi) ? b : a));
  if (numberOf(top.answer.lo) <= numberOf(bottom.answer.hi)) {
    return "All ranges overlap: this answer does not tell which group is above which.";
  }
  const above = `${name(top)} is certainly above ${name(bottom)}: their ranges do not overlap.`;
  const sure = certain(rows).size;
  if (known.length === 2 || !grey) return above;
  if (sure === known.length) return `No two ranges overlap, so the order is certain: ${name(top)} is the highest, ${name(bottom)} the lowest.`;
  return `${above} ${sure ? `${number(sure)} of ${number(known.length)} groups have a certain place in the order` : "No group has a certain place in the order"}; grey ones cannot be ranked.`;
}

const name = (row) => `“${row.keys.map(label).join(", ")}”`;

/** Whether an interval is too long to say much. */
export function isTooWide(one, aggregate, schema) {
  if (one.lo === null || one.lo === one.hi) return false;
  const [lo, hi] = [numberOf(one.lo), numberOf(one.hi)];
  const [, part, of] = /^(avg|min|max)_(.+)$/.exec(aggregate) ?? [];
  const attribute = part && schema.attributes.find((known) => known.name === of);
  if (attribute?.min !== undefined) return hi - lo > (numberOf(attribute.max) - numberOf(attribute.min)) / 2;
  return lo >= 0 && hi > FEW && hi > WIDE * lo;
}

/** The groups of counts as shares of the group of their first keys, in percent. */
export function asShares(answer) {
  const [name] = answer.aggregates;
  const outer = (row) => JSON.stringify(answer.by.slice(0, -1).map((one) => row.key[one]));
  const sums = new Map();
  for (const row of answer.rows) {
    const known = sums.get(outer(row)) ?? { lo: 0, hi: 0 };
    const one = row.answers[name];
    sums.set(outer(row), { lo: known.lo + one.lo, hi: known.hi + one.hi });
  }
  const rows = answer.rows.map((row) => {
    const [one, all] = [row.answers[name], sums.get(outer(row))];
    const share = (own, others, round) => (own + others > 0 ? round((1000 * own) / (own + others)) / 10 : 0);
    // the share is smallest where this group is small and all others are large
    const lo = share(one.lo, all.hi - one.hi, Math.floor);
    const hi = one.hi > 0 ? share(one.hi, all.lo - one.lo, Math.ceil) : 0;
    return { key: row.key, answers: { "share_%": { lo, hi, estimate: null, nullable: false } } };
  });
  const within = answer.by.length > 1 ? `each ${answer.by.slice(0, -1).map(called).join(" and ")}` : "all of these";
  return { ...answer, aggregates: ["share_%"], rows, in_words: `percent within ${within}: ${answer.in_words}`, sentence: undefined };
}
