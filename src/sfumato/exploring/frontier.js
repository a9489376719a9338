// The plot of an exploration: a point is selected by its dot or by its line. Used by the page of
// `explore`, which holds it, and by the desk. Texts from the data are only ever set as text.

const SVG = "http://www.w3.org/2000/svg";
const CLOSE = 4; // dots nearer than that lie on each other
const LETTER = 6.4;

/** Wires dots, lines and the box that tells; gives the function that selects a point by number. */
export function frontier({ root, tip, points, chosen }) {
  const dots = [...root.querySelectorAll("[data-point]")].filter((e) => e instanceof SVGElement);
  const lines = [...root.querySelectorAll("tr[data-point]")];

  function select(number) {
    for (const dot of dots) {
      dot.setAttribute("aria-pressed", String(Number(dot.dataset.point) === number));
    }
    for (const line of lines) {
      line.classList.toggle("chosen", Number(line.dataset.point) === number);
    }
    chosen(number);
  }

  function tell(dot) {
    const at = dot.getBoundingClientRect();
    const here = dots.filter((other) => Math.hypot(dot.cx.baseVal.value - other.cx.baseVal.value,
      dot.cy.baseVal.value - other.cy.baseVal.value) < CLOSE);
    tip.replaceChildren(...here.map((one) => {
      const line = document.createElement("div"), point = points[Number(one.dataset.point)];
      line.textContent = `${point.name}: ${point.words}`;
      return line;
    }));
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left + 12, room)) + window.scrollX}px`;
    tip.style.top = `${at.bottom + 6 + window.scrollY}px`;
  }

  for (const dot of dots) {
    const here = () => select(Number(dot.dataset.point));
    dot.addEventListener("mouseenter", () => tell(dot));
    dot.addEventListener("focus", () => tell(dot));
    for (const end of ["mouseleave", "blur"]) dot.addEventListener(end, () => { tip.hidden = true; });
    dot.addEventListener("click", here);
    dot.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); here(); }
    });
  }
  for (const line of lines) {
    line.querySelector("button").addEventListener("click", () => select(Number(line.dataset.point)));
  }
  return select;
}

/** Lets a click on a heading sort a table; cells may have the value that counts in data-value. */
export function sortable(table) {
  const body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.parentElement, down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b
        : a.localeCompare(b);
      const sorted = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
      body.replaceChildren(...sorted);
    });
  });
}

/** One question: true shares, those of releases beside them, and the marginals as a line. */
export function multiple(question, series) {
  const width = 320, bottom = 96, left = 34;
  const highest = Math.max(...question.truth, ...series.flatMap((one) => one.shares), question.usual ?? 0, 0.01);
  const y = (share) => bottom - (bottom - 8) * share / highest;
  const step = (width - left - 6) / question.labels.length;
  const drawing = make("svg", { viewBox: `0 0 ${width} 120`, role: "img", "aria-label":
    `${question.title}: table and ${series.map((one) => one.name).join(", ")}` });
  for (const mark of [0, highest]) {
    drawing.append(make("line", { x1: left, x2: width - 6, y1: y(mark), y2: y(mark), class: "grid" }));
    drawing.append(make("text", { x: left - 4, y: y(mark) + 4, "text-anchor": "end" },
      `${(100 * mark).toFixed(0)}%`));
  }
  const bars = [{ name: "table", shares: question.truth, kind: "truth" }, ...series];
  const bar = Math.min(step * 0.8 / bars.length, 24), every = Math.ceil(70 / step);
  question.labels.forEach((label, place) => {
    const x = left + place * step, group = make("g", {});
    const usual = question.usual === undefined ? "" : `, marginals ${percent(question.usual)}`;
    group.append(make("title", {}, `${label}: ${bars.map((one) =>
      `${one.name} ${percent(one.shares[place])}`).join(", ")}${usual}`));
    bars.forEach((one, turn) => group.append(make("rect", { x: x + turn * (bar + 1), y: y(one.shares[place]),
      width: bar, height: Math.max(0, bottom - y(one.shares[place])), class: one.kind })));
    drawing.append(group);
    if (place % every === 0) {
      const shown = cut(label, Math.floor(step * every / LETTER));
      const last = width - shown.length * LETTER; // or its end would be outside
      drawing.append(make("text", { x: Math.max(left, Math.min(x, last)), y: bottom + 16 }, shown));
    }
  });
  if (question.usual !== undefined) {
    drawing.append(make("line", { x1: left, x2: width - 6, y1: y(question.usual),
      y2: y(question.usual), class: "range", "stroke-dasharray": "4 3" }));
  }
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = question.title;
  figure.append(caption, drawing);
  return figure;
}

const percent = (share) => `${(100 * share).toFixed(1)}%`;
const cut = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);

function make(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
