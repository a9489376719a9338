// Values as people read them.

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const DAY = /^-?\d{4,6}-\d\d-\d\d$/;
const MOMENT = /^-?\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d/;

export const isDay = (value) => typeof value === "string" && DAY.test(value);
export const isMoment = (value) => typeof value === "string" && MOMENT.test(value);

/** The kind of values that a numerical attribute has: number, day, moment or other. */
export function kindOf(value) {
  if (typeof value === "number") return "number";
  if (isDay(value)) return "day";
  return isMoment(value) ? "moment" : "other";
}

/** A place on a line; days and moments count in milliseconds. */
export function numberOf(value) {
  if (typeof value === "number") return value;
  if (isDay(value)) return Date.parse(`${value}T00:00:00Z`);
  if (isMoment(value)) return Date.parse(zoned(value.replace(" ", "T")));
  return Number.NaN;
}

export const dayOf = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 10);

const zoned = (text) => (/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);

export function shown(value) {
  if (value === null || value === undefined) return "unknown";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return isMoment(value) ? value.replace("T", " ") : isolated(String(value));
}

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** A text whose letters do not turn around those beside it; marks that would are shown by number. */
export function isolated(text) {
  const clean = text.replace(TURNING, (mark) => `<U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
  return RIGHT_TO_LEFT.test(clean) ? `\u2068${clean}\u2069` : clean;
}

/** Of a key: years are not counted in thousands. */
export function label(value) {
  return typeof value === "number" ? String(value) : shown(value);
}

export function number(value) {
  if (Number.isInteger(value)) return WHOLE.format(value);
  const digits = Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 4;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

/** The estimate of an answer: no more digits than the length of the interval deserves. */
export function about({ estimate, lo, hi }) {
  if (typeof estimate !== "number") return shown(estimate);
  const fine = Number.isInteger(lo) && Number.isInteger(hi) ? 1 : 2;
  const digits = Math.max(0, Math.min(4, fine - Math.floor(Math.log10(Math.abs(hi - lo) || 1))));
  return number(Number(estimate.toFixed(digits)));
}

export const isExact = ({ lo, hi }) => lo === hi;

/** Both ends of an answer, or its one value. */
export const endsOf = ({ lo, hi }) => (lo === hi ? [shown(lo)] : [bound(lo, false), bound(hi, true)]);

/** Lower bounds are rounded down and upper ones up, so that they still hold. */
export function bound(value, upper) {
  if (typeof value !== "number" || Number.isInteger(value)) return shown(value);
  const scale = Math.abs(value) >= 100 ? 10 : Math.abs(value) >= 1 ? 100 : 10000;
  return number((upper ? Math.ceil(value * scale) : Math.floor(value * scale)) / scale);
}

export function percent(share) {
  const value = share * 100;
  if (value === 0 || value >= 10) return `${Math.round(value)}%`;
  return value < 0.01 ? "less than 0.01%" : `${Number(value.toPrecision(2))}%`;
}

/** A message of the server as a sentence. */
export function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?:;]$/.test(text) ? "" : "."}` : "";
}

export const capital = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}`;

export function listed(words, joint = "or") {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1)}`;
}
