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

/** The columns of the server's own CSV: keys, then estimate, lo and hi of every aggregate. */
export function asCsv(answer) {
  const head = [...answer.by, ...answer.aggregates.flatMap((name) => ENDS.map((end) => `${name}_${end}`))];
  const lines = answer.rows.map((row) => [
    ...answer.by.map((name) => row.key[name]),
    ...answer.aggregates.flatMap((name) => ENDS.map((end) => row.answers[name][end])),
  ]);
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

const ENDS = ["estimate", "lo", "hi"];

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) || text !== text.trim() || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
}
