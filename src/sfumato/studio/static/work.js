// Long work: asked for once, then looked after until it has ended.

import { ask } from "./desk.js";
import { byId, fill } from "./dom.js";
import { Trouble } from "./trouble.js";
import { logged, progress, say } from "./parts.js";

const PAUSE = 250; // milliseconds between two looks

/** Looks after a job until it has ended; `show` is told what came of it. */
export async function watch({ job }, show) {
  const place = byId(`${job.kind}-progress`);
  const button = byId(`${job.kind}-button`);
  button.setAttribute("aria-disabled", "true");
  try {
    await logged(job.kind, job.kind, async () => {
      let told = { job };
      draw(place, told.job);
      while (told.job.state === "running") {
        await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
        told = await ask("job");
        draw(place, told.job);
      }
      fill(place);
      if (told.job.state === "failed") throw new Trouble(422, { message: told.job.trouble });
      say(told.job.state === "stopped" ? "Stopped; nothing was done yet." : "Done.");
      show(told);
    });
  } finally {
    fill(place);
    button.removeAttribute("aria-disabled");
  }
}

function draw(place, job) {
  // the button stays the same one, or it would lose the focus
  const old = place.querySelector(".progress");
  const fresh = progress(job, () => ask("stop"));
  if (!old) fill(place, fresh);
  else {
    old.querySelector("label").replaceWith(fresh.querySelector("label"));
    old.querySelector("button").disabled = Boolean(job.stopping);
  }
}

/** Numbers with commas between them. */
export function numbersOf(text, name) {
  const found = text.split(",").map((part) => part.trim()).filter(Boolean).map(Number);
  if (found.some((one) => !Number.isFinite(one))) {
    throw new Trouble(-1, { message: `${name}: ${text} is no list of numbers`, hint: "Write them like 5, 10, 25" });
  }
  return found;
}
