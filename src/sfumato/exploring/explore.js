"use strict";
// A point is selected by its dot or by its line; everything below follows. Texts from the data are
// only ever set as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const tip = document.getElementById("tip");
  const dots = [...document.querySelectorAll("[data-point]")].filter((e) => e instanceof SVGElement);
  const lines = [...document.querySelectorAll("tr[data-point]")];

  const make = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const percent = (share) => `${(100 * share).toFixed(1)}%`;
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function multiple(question, released) {
    const width = 320, bottom = 96, left = 34, highest = Math.max(
      ...question.truth, ...released, question.usual, 0.01);
    const y = (share) => bottom - (bottom - 8) * share / highest;
    const step = (width - left - 6) / question.labels.length;
    const drawing = make("svg", { viewBox: `0 0 ${width} 120`, role: "img", "aria-label":
      `${question.title}: table and release` });
    for (const mark of [0, highest]) {
      drawing.append(make("line", { x1: left, x2: width - 6, y1: y(mark), y2: y(mark), class: "grid" }));
      drawing.append(make("text", { x: left - 4, y: y(mark) + 4, "text-anchor": "end" },
        `${(100 * mark).toFixed(0)}%`));
    }
    const every = Math.ceil(70 / step);
    question.labels.forEach((label, place) => {
      const x = left + place * step, bar = Math.min(step * 0.4, 24);
      const group = make("g", {});
      group.append(make("title", {}, `${label}: table ${percent(question.truth[place])}, release ` +
        `${percent(released[place])}, marginals ${percent(question.usual)}`));
      [[question.truth[place], "truth", 0], [released[place], "published", bar + 1]].forEach(
        ([share, kind, shift]) => group.append(make("rect", { x: x + shift, y: y(share), width: bar,
          height: bottom - y(share), class: kind })));
      drawing.append(group);
      if (place % every === 0) {
        drawing.append(make("text", { x, y: bottom + 16 }, cut(label, Math.floor(step * every / 6.4))));
      }
    });
    drawing.append(make("line", { x1: left, x2: width - 6, y1: y(question.usual),
      y2: y(question.usual), class: "range", "stroke-dasharray": "4 3" }));
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = question.title;
    figure.append(caption, drawing);
    return figure;
  }

  function select(number) {
    const point = data.points[number];
    for (const dot of dots) {
      dot.setAttribute("aria-pressed", String(Number(dot.dataset.point) === number));
    }
    for (const line of lines) {
      line.classList.toggle("chosen", Number(line.dataset.point) === number);
    }
    document.getElementById("name").textContent = point.name;
    document.getElementById("words").textContent = point.words;
    document.getElementById("shell").textContent = point.command;
    document.getElementById("python").textContent = point.python;
    document.getElementById("multiples").replaceChildren(
      ...data.questions.map((question, place) => multiple(question, point.released[place])));
  }

  function tell(dot) {
    const point = data.points[Number(dot.dataset.point)];
    const at = dot.getBoundingClientRect();
    tip.textContent = `${point.name}: ${point.words}`;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(at.left + 12, room)) + window.scrollX}px`;
    tip.style.top = `${at.bottom + 6 + window.scrollY}px`;
  }

  for (const dot of dots) {
    const chosen = () => select(Number(dot.dataset.point));
    dot.addEventListener("mouseenter", () => tell(dot));
    dot.addEventListener("focus", () => tell(dot));
    for (const end of ["mouseleave", "blur"]) dot.addEventListener(end, () => { tip.hidden = true; });
    dot.addEventListener("click", chosen);
    dot.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chosen(); }
    });
  }
  for (const line of lines) {
    line.querySelector("button").addEventListener("click", () => select(Number(line.dataset.point)));
  }

  const body = document.querySelector("#points tbody");
  document.querySelectorAll("#points th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.parentElement, down = head.getAttribute("aria-sort") === "ascending";
      for (const other of document.querySelectorAll("#points th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = (a, b) => a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b
        : a.localeCompare(b);
      const sorted = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
      body.replaceChildren(...sorted);
    });
  });

  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source); // pages opened from a file may not copy
        button.textContent = "Selected";
      }
    });
  }
  select(data.recommended);
})();
