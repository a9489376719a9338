// The question and its answer, for use elsewhere.

/** For a shell: a text in single quotes. */
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** For Python: JSON's quotes and escapes are Python's, too. */
const python = (text) => JSON.stringify(text);

const home = () => new URL(".", location.href).href.replace(/#.*$/, "");

export function asCurl(sql, database, hasToken) {
  const header = hasToken ? ' \\\n  -H "Authorization: Bearer $SFUMATO_TOKEN"' : "";
  const body = JSON.stringify({ database, sql: oneLine(sql) });
  return `curl -sS ${shell(`${home()}v1/query`)}${header} \\\n  -H 'Content-Type: application/json' \\\n  -d ${shell(body)}`;
}

export function asPython(sql, database, hasToken) {
  const access = hasToken ? ', token=os.environ["SFUMATO_TOKEN"]' : "";
  const lines = [
    ...(hasToken ? ["import os"] : []),
    "import sfumato as sf",
    "",
    `db = sf.connect(${python(home().replace(/\/$/, ""))}, database=${python(database)}${access})`,
    `result = db.query(${python(oneLine(sql))})`,
    "print(result.to_pandas())",
  ];
  return `${lines.join("\n")}\n`;
}

/** Line breaks become spaces, unless a quoted text may hold them. */
const oneLine = (sql) => (/['"][^'"]*\n/.test(sql) || sql.includes("--") ? sql : sql.replace(/\s+/g, " ").trim());

/** Keys, the ends of every aggregate, what was asked, and the receipt; the estimate on request. */
export function asCsv(answer, even) {
  const ends = even ? ["estimate", "lo", "hi"] : ["lo", "hi"];
  const head = [...answer.by, ...answer.aggregates.flatMap((name) => ends.map((end) => `${name}_${end}`)), "question", "receipt"];
  const lines = answer.rows.map((row) => [
    ...answer.by.map((name) => row.key[name]),
    ...answer.aggregates.flatMap((name) => ends.map((end) => row.answers[name][end])),
    answer.in_words,
    answer.receipt,
  ]);
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** A file name that says what was asked. */
export function fileName(database, words, ending) {
  const plain = `${database} ${words}`.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-");
  return `${plain.replace(/^-|-$/g, "").slice(0, 100).toLowerCase()}.${ending}`;
}

/** A sentence to quote, and where it comes from. */
export function citation(sentence, answer, schema) {
  const of = schema.title ?? `Database “${answer.database}”`;
  const source = schema.source ? ` (${schema.source})` : "";
  const day = new Date().toISOString().slice(0, 10);
  return `${sentence} ${of}${source}, generation ${answer.generation}, asked on ${day}. The true number is surely within these ends. ${location.href} Receipt ${answer.receipt}.`;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  // what a spreadsheet would compute gets an apostrophe
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
}
