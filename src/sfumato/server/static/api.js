// The server: one function per address. Errors come as Trouble, with what the server said.

import { told } from "./trouble.js";

export { Trouble } from "./trouble.js";

const TOKEN = "sfumato-token";
const PATIENCE = 3; // seconds that a busy server may ask us to wait by ourselves
const ATTEMPTS = 3;

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (secret) => sessionStorage.setItem(TOKEN, secret),
  forget: () => sessionStorage.removeItem(TOKEN),
};

export const databases = async () => (await call("v1/databases")).databases;

export const schema = (database) => call(`v1/schema?${new URLSearchParams({ database })}`);

export const ask = (database, question, signal) =>
  call("v1/query", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ database, ...question }),
    signal,
  });

/** Many questions at once; each has an answer or an error. */
export const askMany = (database, questions, signal) => ask(database, { queries: questions }, signal);

async function call(address, options = {}) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(address, options);
    } catch (trouble) {
      const soon = trouble.status === 429 && trouble.wait !== null && trouble.wait <= PATIENCE;
      if (!soon || attempt === ATTEMPTS) throw trouble;
      await pause(trouble.wait * 1000, options.signal);
    }
  }
}

function once(address, options) {
  const headers = { Accept: "application/json", ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  return told(address, { ...options, headers, credentials: "omit" });
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}
