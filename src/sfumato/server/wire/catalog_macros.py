"""PostgreSQL's functions about its catalogs, as DuckDB has them; most look at empty tables.

A macro is put into the statement as it is, so the tables that it looks into (VIEWS) have columns
whose names no statement uses for its own.
"""

from __future__ import annotations


def _nothing(name: str, *counts: int) -> str:
    """A function that never finds anything, for so many arguments."""
    letters = "abcdefgh"
    ways = (f"({', '.join(letters[:count])}) AS NULL::VARCHAR" for count in counts)
    return f"{name}{', '.join(ways)}"


def _always(name: str, value: str, *counts: int) -> str:
    letters = "abcdefgh"
    ways = (f"({', '.join(letters[:count])}) AS {value}" for count in counts)
    return f"{name}{', '.join(ways)}"


VIEWS = (
    "words AS SELECT objoid AS its_object, objsubid AS its_place, description AS its_words "
    "FROM pg.pg_description",
    "class_names AS SELECT oid AS its_object, relname AS its_name FROM pg.pg_class",
    "namespace_names AS SELECT oid AS its_object, nspname AS its_name FROM pg.pg_namespace",
)
_READS = "lower(p) IN ('select', 'usage', 'connect', 'temporary', 'temp')"
# Where DuckDB makes a text or a list in one step it looks neither at the limit of memory nor at the
# clock, so what goes in is limited. A lambda names its argument once: written twice, nested calls
# would double with every level.
MACROS = (
    "brief(t, n) AS list_transform([t::VARCHAR], lambda its_text: CASE WHEN length(its_text) > n "
    "THEN error('too long') ELSE its_text END)[1]",
    "series(a, b) AS list_transform([[a, b]], lambda its_ends: generate_series(its_ends[1], "
    "CASE WHEN abs(its_ends[2] - its_ends[1]) > 100_000 THEN error('too long') "
    "ELSE its_ends[2] END))[1], "
    "(a, b, c) AS list_transform([[a, b, c]], lambda its_ends: generate_series(its_ends[1], "
    "CASE WHEN abs(its_ends[2] - its_ends[1]) > 100_000 THEN error('too long') "
    "ELSE its_ends[2] END, its_ends[3]))[1]",
    "format_type(o, m) AS (SELECT min(its_name) FROM pg.type_names WHERE its_type = o)",
    "to_regtype(n) AS (SELECT min(its_type) FROM pg.type_names WHERE n IN (its_name, its_short))",
    "obj_description(o) AS (SELECT min(its_words) FROM pg.words WHERE its_object = o "
    "AND its_place = 0), (o, c) AS (SELECT min(its_words) FROM pg.words WHERE its_object = o "
    "AND its_place = 0)",
    "col_description(o, n) AS (SELECT min(its_words) FROM pg.words WHERE its_object = o "
    "AND its_place = n)",
    "to_regclass(n) AS (SELECT min(its_object) FROM pg.class_names WHERE its_name = n)",
    "class_name(o) AS (SELECT min(its_name) FROM pg.class_names WHERE its_object = o)",
    "namespace_name(o) AS (SELECT min(its_name) FROM pg.namespace_names WHERE its_object = o)",
    "current_schemas(b) AS CASE WHEN b THEN ['pg_catalog', 'public'] ELSE ['public'] END",
    "quote_ident(n) AS '\"' || replace(n, '\"', '\"\"') || '\"'",
    "quote_literal(n) AS '''' || replace(n, '''', '''''') || ''''",
    "_pg_expandarray(a) AS {'x': NULL::INTEGER, 'n': NULL::INTEGER}",
    "array_upper(a, d) AS nullif(len(a), 0)",
    "array_lower(a, d) AS CASE WHEN len(a) > 0 THEN 1 END",
    "pg_size_pretty(a) AS a || ' bytes'",
    "pg_char_to_encoding(a) AS 6",
    *(
        f"{name}(a, p) AS {_READS}, (u, a, p) AS {_READS}"
        for name in ("has_table_privilege", "has_schema_privilege", "has_database_privilege",
                     "has_any_column_privilege", "has_function_privilege",
                     "has_sequence_privilege", "has_tablespace_privilege")
    ),
    f"has_column_privilege(a, c, p) AS {_READS}, (u, a, c, p) AS {_READS}",
    _always("pg_get_userbyid", "'sfumato'", 1),
    _always("pg_encoding_to_char", "'UTF8'", 1),
    *(
        _always(name, "true", 1)
        for name in ("pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible",
                     "pg_opclass_is_visible", "pg_operator_is_visible", "pg_collation_is_visible")
    ),
    *(
        _always(name, "false", 1)
        for name in ("pg_is_other_temp_schema", "pg_relation_is_publishable")
    ),
    _always("pg_has_role", "false", 2, 3),
    *(
        _always(name, "0::BIGINT", 1, 2)
        for name in ("pg_relation_size", "pg_table_size", "pg_total_relation_size",
                     "pg_indexes_size", "pg_database_size", "age")
    ),
    *(
        _nothing(name, 1, 2, 3)
        for name in ("pg_get_expr", "pg_get_constraintdef", "pg_get_indexdef", "pg_get_viewdef",
                     "pg_get_triggerdef", "pg_get_ruledef", "pg_get_serial_sequence",
                     "shobj_description", "pg_get_partkeydef", "pg_get_functiondef",
                     "pg_get_function_result", "pg_get_function_arguments",
                     "pg_get_function_identity_arguments", "pg_get_statisticsobjdef",
                     "pg_get_statisticsobjdef_columns",
                     "pg_tablespace_location", "pg_relation_filepath")
    ),
)  # fmt: skip
