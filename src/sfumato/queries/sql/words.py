"""Words and signs of SQL that have no meaning here, each with its clause and what would work."""

from __future__ import annotations

A_QUERY = "a query reads SELECT ... FROM t WHERE ... GROUP BY ..."
A_CONDITION = "a condition compares a column with a value: age <= 30"
A_VALUE = "a value is 30, 2.5, 'text', TRUE, or DATE '2020-12-31'"
ONE_TABLE = "a question is about one table: FROM t"
_ONE_QUERY = "ask each SELECT as a question of its own"
_UNSORTED = "is not supported; sort or cut the answer yourself"
_LIST_THEM = "patterns are not supported; list the wanted values: IN ('a', 'b')"
_PLAIN_GROUPS = "only plain columns can stand in GROUP BY"
_COMMENT = "comments are not read; take this one out"
_PARAMETER = "parameters are not supported; write the value itself"
_ARITHMETIC = "arithmetic is not supported; compare a column with a value"
_CAST = "casts are not supported; a value fits the type of its column by itself"
_WINDOW = "window functions are not supported; use GROUP BY"
_SUBQUERY = "subqueries are not supported; list the wanted values: IN (1, 2)"

# Reserved in every dialect of SQL: a column of such a name must be quoted there, too.
FOREIGN_WORDS = {
    "CASE": ("CASE", "CASE is not supported; ask a question per case, or use GROUP BY"),
    "CAST": ("CAST", _CAST),
    "TRY_CAST": ("CAST", _CAST),
    "COLLATE": ("COLLATE", "COLLATE is not supported; texts are compared as they are"),
    "CROSS": ("JOIN", f"joins are not supported; {ONE_TABLE}"),
    "CUBE": ("GROUP BY", _PLAIN_GROUPS),
    "DISTINCT": ("DISTINCT", "DISTINCT is not supported; use GROUP BY, or = and IS NULL"),
    "DIV": ("WHERE", _ARITHMETIC),
    "ESCAPE": ("LIKE", _LIST_THEM),
    "EXCEPT": ("EXCEPT", f"EXCEPT is not supported; {_ONE_QUERY}"),
    "EXISTS": ("EXISTS", _SUBQUERY),
    "FETCH": ("FETCH", f"FETCH {_UNSORTED}"),
    "GLOB": ("LIKE", _LIST_THEM),
    "GROUPING SETS": ("GROUP BY", _PLAIN_GROUPS),
    "HAVING": ("HAVING", "HAVING is not supported; choose among the groups of the answer"),
    "ILIKE": ("LIKE", _LIST_THEM),
    "INTERSECT": ("INTERSECT", f"INTERSECT is not supported; {_ONE_QUERY}"),
    "INTERVAL": ("WHERE", "intervals are not supported; write the date itself"),
    "INTO": ("INTO", "INTO is not supported; an answer is not stored"),
    "JOIN": ("JOIN", f"joins are not supported; {ONE_TABLE}"),
    "LATERAL": ("JOIN", f"LATERAL is not supported; {ONE_TABLE}"),
    "LIKE": ("LIKE", _LIST_THEM),
    "LIMIT": ("LIMIT", f"LIMIT {_UNSORTED}"),
    "NATURAL": ("JOIN", f"joins are not supported; {ONE_TABLE}"),
    "ORDER BY": ("ORDER BY", f"ORDER BY {_UNSORTED}"),
    "PIVOT": ("PIVOT", "PIVOT is not supported; use GROUP BY"),
    "QUALIFY": ("QUALIFY", _WINDOW),
    "REGEXP": ("LIKE", _LIST_THEM),
    "RLIKE": ("LIKE", _LIST_THEM),
    "ROLLUP": ("GROUP BY", _PLAIN_GROUPS),
    "SIMILAR TO": ("LIKE", _LIST_THEM),
    "TABLESAMPLE": ("TABLESAMPLE", f"samples are not supported; {ONE_TABLE}"),
    "UNION": ("UNION", f"UNION is not supported; {_ONE_QUERY}"),
    "UNNEST": ("UNNEST", f"UNNEST is not supported; {ONE_TABLE}"),
    "UNPIVOT": ("PIVOT", "UNPIVOT is not supported; use GROUP BY"),
    "WITH": ("WITH", "WITH is not supported; ask one plain SELECT"),
    "XOR": ("WHERE", "XOR is not supported; write it with AND, OR and NOT"),
}

# These can be names of columns as well; they are refused where the parser made no name of them.
UNUSED_WORDS = {
    "ALL": ("ALL", "ALL is not supported; leave it out, or name the columns"),
    "ANY": ("WHERE", _SUBQUERY),
    "FILTER": ("FILTER", "FILTER is not supported; put its condition into WHERE"),
    "FOR": ("FOR", "FOR is not supported; a question changes and locks nothing"),
    "OFFSET": ("OFFSET", f"OFFSET {_UNSORTED}"),
    "OVER": ("OVER", _WINDOW),
    "SOME": ("WHERE", _SUBQUERY),
    "TOP": ("TOP", f"TOP {_UNSORTED}"),
    "UNKNOWN": ("WHERE", "IS UNKNOWN is not supported; use IS NULL"),
    "WINDOW": ("WINDOW", _WINDOW),
    "*": ("*", "* can only stand in COUNT(*)"),
}

# sqlglot takes them for aliases; elsewhere they change what is counted.
NO_ALIASES = {"ALL", "EXCLUDE", "FINAL", "IGNORE", "ONLY", "RESPECT", "SAMPLE"}

# The first that fits is taken.
FOREIGN_SIGNS = {
    "--": ("comment", _COMMENT),
    "/*": ("comment", _COMMENT),
    "->": ("text", "-> is not supported; a column holds plain values"),
    "#": ("comment", _COMMENT),
    "'": ("text", "this text is never closed by a '"),
    '"': ("text", 'this name is never closed by a "'),
    "`": ("text", "names are quoted like \"this\", texts like 'this'"),
    "::": ("CAST", _CAST),
    "?": ("parameter", _PARAMETER),
    ":": ("parameter", _PARAMETER),
    "$": ("parameter", _PARAMETER),
    "@": ("parameter", _PARAMETER),
    ".": ("text", "a number begins with a digit: 0.5"),
    "||": ("WHERE", "texts cannot be joined; write the whole text"),
    "/": ("WHERE", _ARITHMETIC),
    "%": ("WHERE", _ARITHMETIC),
    "^": ("WHERE", _ARITHMETIC),
    "!": ("WHERE", "write NOT for !"),
    "~": ("LIKE", _LIST_THEM),
}
