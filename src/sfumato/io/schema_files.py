"""Schemas as TOML files.

::

    identifiers = ["name"]
    quasi = ["age", "sex", "education", "job"]
    sensitive = "disease"                       # or a list
    insensitive = []

    [attributes.education]
    order = ["none", "primary", "secondary", "university"]

    [attributes.age]
    kind = "categorical"                        # or "numerical"; normally seen from the values

    [attributes.income]
    bins = [0, 20000, 50000]                    # borders; or 5, or { quantiles = [0.1, 0.9] }

    [taxonomies.job]                            # one root; an empty list is a value by itself
    "*" = { technical = ["engineer", "lawyer"], artist = ["dancer", "writer"] }

    [points]                                    # of quasi-identifiers, for statistical databases
    home = ["longitude", "latitude"]

The owner's words are shown to those who ask a database, instead of names and codes::

    title = "Wages 2024"                        # also: description, source

    [attributes.edu]
    label = "education"
    names = { "1" = "school", "21" = "university" }

    [attributes.wage]
    unit = "euros a month"

A taxonomy can also stand in a file of its own, in any form that ``read_taxonomies`` knows and named
from the schema's folder, or be built over all whole numbers or days between two ends::

    [taxonomies]
    education = "hierarchies/education.csv"
    age.intervals = { low = 0, high = 99, widths = [5, 10, 20] }
    born.dates = { first = 1920-01-01, last = 2019-12-31 }

A file is read when the schema is: the schema never depends on the table that it describes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfumato.core.schema import Schema, require_schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.taxonomy_builders import date_taxonomy, interval_taxonomy
from sfumato.core.words import Words
from sfumato.errors import SchemaError
from sfumato.io.nested_files import (
    joined,
    naming,
    read_nested,
    require_known,
    require_table,
    wrong,
)
from sfumato.io.schema_writing import write_schema
from sfumato.io.taxonomy_files import nested_taxonomy, read_taxonomies

__all__ = ["read_schema", "read_taxonomies", "write_schema"]

LISTS = ("identifiers", "quasi", "sensitive", "insensitive")
TABLES = ("attributes", "taxonomies", "points")
DETAILS = ("kind", "order", "bins", "label", "unit", "names")
TEXTS = ("title", "description", "source")

# Builders that need no table: their name, what makes the tree, what must and what may be said.
_BUILDERS: Mapping[str, tuple[Callable[..., Taxonomy], tuple[str, ...], tuple[str, ...]]] = {
    "intervals": (interval_taxonomy, ("low", "high"), ("widths",)),
    "dates": (date_taxonomy, ("first", "last"), ()),
}


def read_schema(path: str | Path) -> Schema:
    """The schema in a TOML file.

    >>> sf.read_schema("patients.toml").sensitive
    ('disease',)
    """
    path = Path(path)
    content = read_nested(path, (".toml",))
    require_known(path, "", content, (*LISTS, *TABLES, *TEXTS))
    details = require_table(path, "attributes", content.get("attributes", {}))
    for name, detail in details.items():
        where = f"attributes.{name}"
        require_known(path, where, require_table(path, where, detail), DETAILS)
    trees = require_table(path, "taxonomies", content.get("taxonomies", {}))
    points = require_table(path, "points", content.get("points", {}))
    with naming(path):
        return Schema(
            **{role: _names(path, role, content[role]) for role in LISTS if role in content},
            # a schema without quasi-identifiers is refused by Schema itself
            **({} if "quasi" in content else {"quasi": ()}),
            kinds={n: _text(path, n, d["kind"]) for n, d in details.items() if "kind" in d},
            orders={n: _order(path, n, d["order"]) for n, d in details.items() if "order" in d},
            bins={n: d["bins"] for n, d in details.items() if "bins" in d},
            taxonomies={name: _taxonomy(path, name, said) for name, said in trees.items()},
            words=_words(path, content, details),
            points={name: _names(path, f"points.{name}", pair) for name, pair in points.items()},
        )


def as_schema(schema: Schema | str | Path) -> Schema:
    """A schema as it is, or the one in a file."""
    if isinstance(schema, str | Path):
        return read_schema(schema)
    require_schema(schema)
    return schema


def _words(path: Path, content: Mapping[str, Any], details: Mapping[str, Any]) -> Words:
    said = {name: content[name] for name in TEXTS if name in content}
    return Words(
        **said,
        labels={n: d["label"] for n, d in details.items() if "label" in d},
        units={n: d["unit"] for n, d in details.items() if "unit" in d},
        names={
            n: require_table(path, f"attributes.{n}.names", d["names"])
            for n, d in details.items()
            if "names" in d
        },
    )


def _taxonomy(path: Path, name: str, said: Any) -> Taxonomy:
    where = f"taxonomies.{name}"
    with naming(path, where):
        if isinstance(said, str):
            return read_taxonomies(path.parent / said, name)[name]
        if builder := _builder(require_table(path, where, said)):
            return _built(path, joined(where, builder), builder, said[builder])
        return nested_taxonomy(path, where, said)


def _builder(said: Mapping[str, Any]) -> str | None:
    """The builder that is meant. What it is told are numbers and dates, which a tree never has."""
    for name in _BUILDERS:
        told = said[name].values() if isinstance(said.get(name), dict) else ()
        if len(said) == 1 and any(not isinstance(value, dict | list) for value in told):
            return name
    return None


def _built(path: Path, where: str, builder: str, told: dict[str, Any]) -> Taxonomy:
    build, needed, optional = _BUILDERS[builder]
    require_known(path, where, told, needed + optional)
    for key in needed:
        if key not in told:
            raise SchemaError(f"{path}: {where} lacks {key!r}")
    return build(**told)


def _names(path: Path, role: str, names: Any) -> list[str]:
    if role == "sensitive" and isinstance(names, str):
        return [names]
    if not isinstance(names, list):
        raise wrong(path, role, "a list of column names", names)
    for name in names:
        if not isinstance(name, str):
            raise wrong(path, role, "a list of column names", name, inside=True)
    return names


def _order(path: Path, name: str, order: Any) -> list[Any]:
    where = f"attributes.{name}.order"
    if not isinstance(order, list) or not order:
        raise wrong(path, where, "a list of values, lowest first", order)
    for value in order:
        if isinstance(value, dict | list):
            raise wrong(path, where, "a list of values, lowest first", value, inside=True)
    return order


def _text(path: Path, name: str, kind: Any) -> str:
    if not isinstance(kind, str):
        raise wrong(path, f"attributes.{name}.kind", '"numerical" or "categorical"', kind)
    return kind
