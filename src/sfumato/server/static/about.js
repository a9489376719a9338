// Puts the real m into the text, where the database lets us know it; else the text stands as it is.

import { databases } from "./api.js";
import { byId, fill } from "./dom.js";
import { databaseOf } from "./question.js";

try {
  const known = await databases();
  const wanted = known.find((one) => one.name === databaseOf(location.hash));
  const one = wanted ?? (known.length === 1 ? known[0] : null);
  if (one) {
    for (const place of document.querySelectorAll(".promise .m")) place.textContent = String(one.m);
    fill(byId("here"), `In the database “${one.name}” the owner of the data has chosen this number: everybody's list `
      + `has at least ${one.m} different values, and a guess about you is right at most one time in ${one.m}.`);
  }
} catch {
  // without access the general text is right, too
}
