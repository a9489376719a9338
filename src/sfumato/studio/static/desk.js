// The desk behind the page: one function for all that it can be asked to do.

import { Trouble, told } from "./trouble.js";

/** Asks the desk to do something; Trouble if it cannot. */
export const ask = (what, words = {}) => send(what, {
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(words),
});

/** Hands a file over as it is, with what is said about it. */
export const upload = (file, words) => send("upload", {
  headers: {
    "Content-Type": "application/octet-stream",
    "X-File-Name": encodeURIComponent(file.name),
    "X-Words": encodeURIComponent(JSON.stringify(words)),
  },
  body: file,
});

async function send(what, options) {
  try {
    return await told(what, { method: "POST", ...options });
  } catch (trouble) {
    if (trouble.code !== "unreachable") throw trouble;
    throw new Trouble(0, { code: "unreachable", message: "The desk does not answer.", hint: "Look whether sfumato studio still runs." });
  }
}
