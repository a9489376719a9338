// One request: what the server says, or Trouble with what it says is wrong.

export class Trouble extends Error {
  constructor(status, told = {}) {
    super(told.message ?? "The server did not answer as expected.");
    this.status = status;
    this.code = told.code ?? "unexpected";
    this.hint = told.hint ?? "";
    this.requestId = told.request_id ?? "";
    this.position = told.position ?? null;
    this.wait = told.wait ?? null;
  }
}

/** The JSON of an answer; a refusal, or no answer at all, is Trouble. */
export async function told(address, options) {
  let response;
  try {
    response = await fetch(address, { ...options, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(0, {
      code: "unreachable",
      message: "The server cannot be reached.",
      hint: "Look whether you are online, then ask again.",
    });
  }
  const said = await response.json().catch(() => ({}));
  if (response.ok) return said;
  const wait = Number.parseFloat(response.headers.get("Retry-After"));
  throw new Trouble(response.status, { ...said.error, wait: Number.isFinite(wait) ? wait : null });
}
