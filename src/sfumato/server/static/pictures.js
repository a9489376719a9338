// Charts as files: with the question above and the source below, since a picture travels alone.

import { makeSvg } from "./dom.js";

const STYLES = ["fill", "stroke", "stroke-width", "stroke-linecap", "font-family", "font-size", "font-weight", "paint-order", "opacity"];
const MARGIN = 16;
const SCALE = 2; // dots of a PNG for each of the page

/** A chart as the text of an SVG file. */
export function asSvg(chart, title, source) {
  const width = chart.width.baseVal.value;
  const height = chart.height.baseVal.value;
  const look = getComputedStyle(chart.closest(".panel") ?? document.body);
  const heads = wrapped(title, Math.floor(width / 8.2));
  const feet = wrapped(source, Math.floor(width / 6));
  const top = MARGIN + heads.length * 21 + 6;
  const whole = { width: width + 2 * MARGIN, height: top + height + 10 + feet.length * 15 + MARGIN };
  const picture = makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg", ...whole, viewBox: `0 0 ${whole.width} ${whole.height}` },
    makeSvg("title", { text: title }),
    makeSvg("rect", { ...whole, fill: look.backgroundColor }),
    lines(heads, MARGIN + 15, 21, { "font-size": 16, "font-weight": 700, fill: look.color, "font-family": look.fontFamily }),
    makeSvg("g", { transform: `translate(${MARGIN} ${top})` }, styled(chart)),
    lines(feet, top + height + 22, 15, { "font-size": 11, fill: look.color, "font-family": look.fontFamily }));
  return new XMLSerializer().serializeToString(picture);
}

/** The same as a PNG. */
export async function asPng(chart, title, source) {
  const text = asSvg(chart, title, source);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * SCALE, image.height * SCALE];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

/** A copy that needs no style sheet. */
function styled(chart) {
  const copy = chart.cloneNode(true);
  const [here, there] = [chart, copy].map((one) => [one, ...one.querySelectorAll("*")]);
  here.forEach((element, place) => {
    const look = getComputedStyle(element);
    for (const name of STYLES) there[place].setAttribute(name, look.getPropertyValue(name));
    there[place].removeAttribute("class");
  });
  return copy;
}

const lines = (texts, y, step, attributes) =>
  makeSvg("g", attributes, texts.map((text, place) => makeSvg("text", { x: MARGIN, y: y + place * step, text })));

function wrapped(text, most) {
  const found = [""];
  for (const word of text.split(" ")) {
    const longer = `${found.at(-1)} ${word}`.trim();
    if (longer.length <= most) found[found.length - 1] = longer;
    else found.push(word);
  }
  return found.filter(Boolean);
}
