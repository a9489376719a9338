"""Random texts of queries: good ones, good ones with a foreign part, and damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.core.askable import Askable
from sfumato.core.query import Query
from sfumato.queries.binding import BoundQuery, bind
from sfumato.queries.columns import Catalog, Column
from sfumato.queries.sql import parse, parse_condition

TYPES = {
    "age": pa.int64(),
    "sex": pa.string(),
    "born": pa.date32(),
    "smoker": pa.bool_(),
    "weight": pa.float64(),
}
CATALOG = Catalog.of(Column(name, kind) for name, kind in TYPES.items())

FOREIGN: list[str] = [
    "JOIN u ON t.age = u.age", "LEFT JOIN u", ", u", "HAVING COUNT(*) > 3", "ORDER BY age",
    "LIMIT 3", "OFFSET 2", "UNION SELECT 1", "UNION ALL SELECT COUNT(*) FROM t", "-- hidden",
    "/* hidden */", "# x", "WITH ROLLUP", "FOR UPDATE", "TABLESAMPLE (10)", "FINAL", "AS OF NOW",
    "QUALIFY 1", "; DROP TABLE t", "OVER (PARTITION BY sex)", "FILTER (WHERE age > 3)", "DISTINCT",
    "CASE WHEN age > 3 THEN 1 END", "LIKE 'a%'", "ILIKE 'a'", "REGEXP 'x'", "IS TRUE",
    "IS UNKNOWN", "IS DISTINCT FROM 3", "IN UNNEST(x)", "IN (SELECT 1)", "IN sex", "= ANY (1)",
    "::text", "COLLATE x", "-> 'x'", "[0]", "{d '2020-01-01'}", "X'ff'", "E'\\n'", "N'x'", "$$x$$",
    "'a' 'b'", "INTERVAL '1 day'", "ESCAPE '!'", "?", ":x", "$1", "@x", "+ 1", "* 2", "|| 'x'",
    "ABS(age)", "CAST(age AS TEXT)", "NULL", "CURRENT_DATE", "PIVOT (x)", "t.*", "*",
    "GROUP BY ALL", "GROUP BY 1", "GROUP BY CUBE (age)", "WINDOW w AS ()", "IGNORE NULLS",
    "EXCLUDE (age)", "OR", "XOR", "AND", "NOT", "(", ")", "((((", "))))",
    "BETWEEN SYMMETRIC 1 AND 2", "INTO x", "TOP 5", "MATCH_RECOGNIZE (", "LATERAL VIEW explode(x)",
    "SETTINGS a = 1", "FORMAT JSON", "START WITH x", "PREWHERE a",
]  # fmt: skip
SCRAPS: list[str] = [
    *"'\"`;,.()<>=!*+-/%$@?:#&|~^[]{}\\_", "''", '""', "--", "/*", "*/", "{{", "}}", "{%", "{#",
    "#}", "\0", "\n", "\t", "\x0b", "\u00a0", "\u200b", "\u202e", "\ufeff", "é", "ß", "Ⅷ", "٣",
    "²", "名", "😀", "\ud800", "e9", "1e999", "9" * 50, "0x1F", "1_0", "SELECT", "FROM", "WHERE",
    "GROUP BY", "AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "AS", "DATE", "TIMESTAMP",
    "TIME", "COUNT", "SUM", "t", "age", "t.", "TRUE", "BY", "END", "VALUES", "TABLE", "SET",
    "SHOW", "DESCRIBE", "ALL", "ANY", "ROW", "MAP", "STRUCT", "ARRAY", "INT", "DECIMAL(",
    "EXTRACT(", "TRIM(", "CONVERT(", "SUBSTRING(", "XMLTABLE(", "JSON_OBJECT(", "GROUP_CONCAT(",
    "DECODE(", "IF(", "LAMBDA", "x ->", "KEEP", "PRIOR", "CONNECT BY", "PARTITION", "UNIQUE",
    "OVERLAPS", "DIV", "OPERATOR(", "ON",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Texts:
    """An endless supply, decided by its random numbers."""

    random: Random

    def text(self) -> str:
        """A text of any kind."""
        kinds: list[Callable[[], str]] = [self.good, self.foreign, self.damaged, self.damaged]
        return self.random.choice(kinds)()

    def good(self) -> str:
        """A query, or a condition alone, that is understood."""
        return self.query() if self.random.random() < 0.7 else self.where()

    def query(self) -> str:
        """A SELECT that is understood."""
        by = self.random.sample(list(TYPES), self.random.choice([0, 0, 1, 2]))
        items = [*by, *self.aggregates()]
        self.random.shuffle(items)
        text = (
            f"SELECT {', '.join(items)} FROM {self.random.choice(['t', 'people', 't AS u', 't u'])}"
        )
        if self.random.random() < 0.8:
            text += f" WHERE {self.where()}"
        if by:
            text += f" GROUP BY {', '.join(by)}"
        return text + self.random.choice(["", "", ";", " ;\n"])

    def aggregates(self) -> list[str]:
        """Things to compute, under different names."""
        known = ["COUNT(*)", "count(age)", "SUM(weight)", "AVG(t.age)", "MIN(born)", "Max(age)"]
        chosen = self.random.sample(known, self.random.randint(1, 3))
        aliases = ["", f" AS n{len(chosen)}", f' "a {len(chosen)}"', " total"]
        return [chosen[0] + self.random.choice(aliases), *chosen[1:]]

    def where(self) -> str:
        """Conditions that are joined by AND, or by a negated OR."""
        names = self.random.choices(list(TYPES), k=self.random.randint(1, 4))
        parts = [self.about(name, 2) for name in names]
        parts = [f"({part})" if " OR " in part else part for part in parts]
        if self.random.random() < 0.2:
            return f"NOT ({' OR '.join(parts)})"
        return " AND ".join(parts)

    def about(self, name: str, depth: int) -> str:
        """A condition on one attribute; without parentheses wherever SQL needs none."""
        form = self.random.randrange(8) if depth else 0
        if form == 1:
            return f"NOT {self.comparison(name)}"
        if form == 2:
            return f"NOT ({self.about(name, depth - 1)})"
        if form == 3:
            return f"({self.about(name, depth - 1)})"
        if form in (4, 5):
            return f"{self.about(name, depth - 1)} OR {self.about(name, depth - 1)}"
        if form == 6:
            return f"{self.about(name, depth - 1)} AND {self.about(name, depth - 1)}"
        return self.comparison(name)

    def comparison(self, name: str) -> str:
        """A condition without AND, OR and NOT in front."""
        one, other = self.value(name), self.value(name)
        shown = self.random.choice([name, name, f"t.{name}", f'"{name}"'])
        sign = self.random.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
        no = self.random.choice(["", "NOT "])
        return self.random.choice(
            [
                f"{shown} {sign} {one}",
                f"{shown}{sign} {one}",
                f"{one} {sign} {shown}",
                f"{shown} {no}BETWEEN {one} AND {other}",
                f"{shown} {no}IN ({one}, {other})",
                f"{shown} {no}IN ({one})",
                f"{shown} IS {no}NULL",
            ]
        )

    def value(self, name: str) -> str:
        """A literal that fits an attribute."""
        number = self.random.randint(-3, 12)
        if name == "age":
            return self.random.choice([f"{number}", f"{number}", f"{number}.5", f"{number}.0"])
        if name == "weight":
            return self.random.choice([f"{number}", f"{number}.5", f"{number}.25", f"{number}e0"])
        if name == "born":
            day = f"'2020-01-{self.random.randint(1, 12):02}'"
            return f"DATE {day}"
        if name == "smoker":
            return self.random.choice(["TRUE", "FALSE", "true"])
        return self.random.choice(["'F'", "'M'", "''", "'it''s'", "'x y'", "'é'"])

    def foreign(self) -> str:
        """A query with something in it that has no meaning here."""
        words = self.good().split(" ")
        words.insert(self.random.randint(0, len(words)), self.random.choice(FOREIGN))
        return " ".join(words)

    def damaged(self) -> str:
        """A query, changed a few times without sense."""
        text = self.good()
        for _ in range(self.random.randint(1, 4)):
            damage: Callable[[str], str] = self.random.choice(
                [self.rearranged, self.dirtied, self.cut]
            )
            text = damage(text)
        return text

    def rearranged(self, text: str) -> str:
        """Words deleted, doubled, or swapped."""
        words = text.split(" ")
        one, other = self.random.randrange(len(words)), self.random.randrange(len(words))
        how = self.random.randrange(3)
        if how == 0:
            del words[one]
        elif how == 1:
            words.insert(other, words[one])
        else:
            words[one], words[other] = words[other], words[one]
        return " ".join(words)

    def dirtied(self, text: str) -> str:
        """Scraps put anywhere, or over something."""
        at = self.random.randint(0, len(text))
        space = self.random.choice(["", " "])
        scrap: str = self.random.choice(SCRAPS) * self.random.choice([1, 1, 1, 2, 30])
        return text[:at] + space + scrap + space + text[at + self.random.choice([0, 0, 1, 5]) :]

    def cut(self, text: str) -> str:
        """The beginning of a text, perhaps followed by the end of another."""
        head = text[: self.random.randint(0, len(text))]
        tail = self.good()
        return head + self.random.choice(["", tail, tail[self.random.randrange(len(tail)) :]])


def read(text: str) -> Query:
    """Read a text, as a condition if it does not begin like a query."""
    is_query = text[:20].lstrip().upper().startswith("SELECT")
    return (parse if is_query else parse_condition)(text)


def ask(text: str) -> BoundQuery:
    """Read a text and find its columns."""
    return bind(read(text), CATALOG)


def sources(rows: int = 120) -> list[Askable]:
    """A table with the columns of all texts, and releases of it, one of every sort."""
    random = np.random.default_rng(0)
    columns = {
        "age": pa.array(random.integers(0, 60, rows), pa.int64()),
        "sex": pa.array(random.choice(["F", "M"], rows)),
        "born": pa.array(random.integers(18_260, 18_290, rows).astype(np.int32), pa.date32()),
        "smoker": pa.array(random.random(rows) < 0.3),
        "weight": pa.array(random.random(rows) * 100, mask=random.random(rows) < 0.1),
    }
    schema = sf.Schema(quasi=["age", "sex", "born", "weight"], sensitive="smoker")
    table = sf.read(pa.table(columns), schema)
    other = sf.Schema(quasi=["sex", "born", "smoker"], sensitive="age", insensitive=["weight"])
    return [
        table,
        sf.publish(table, sf.Mondrian(), sf.KAnonymity(5), means=True),
        sf.publish(sf.read(pa.table(columns), other), sf.Anatomize(), sf.LDiversity(3)),
    ]


def asking(asked: Sequence[Askable]) -> Callable[[str], object]:
    """Ask all sources the question that a text is."""

    def answers(text: str) -> object:
        query = read(text)
        return [source.query(query) for source in asked]

    return answers
