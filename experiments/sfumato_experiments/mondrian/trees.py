"""The same rows under generalization hierarchies, which the full-domain rival needs.

The report builds binary trees over the synthetic domains. For Adult it takes Incognito's
hierarchies, which it does not print; ours are those that come with the data, or binary trees for
the stand-in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import sfumato as sf
from sfumato_experiments.data import DATA_VARIABLE

HIERARCHIES = "adult_hierarchies.parquet"


def with_binary_trees(table: sf.Microdata) -> sf.Microdata:
    """The quasi-identifiers under trees that halve their domains again and again."""
    return _under({of.name: binary_tree(of.values.to_pylist()) for of in table.quasi}, table)


def with_adult_trees(table: sf.Microdata, folder: Path | None) -> sf.Microdata:
    """Adult under its hierarchies, if they lie beside it; the folder is that of ``data.adult``."""
    path = Path(folder or os.environ.get(DATA_VARIABLE, "")) / HIERARCHIES
    if not path.is_file():
        return with_binary_trees(table)
    trees = sf.read_taxonomies(path)
    return _under({name: trees[name] for name in table.schema.quasi}, table)


def binary_tree(values: Sequence[Any]) -> sf.Taxonomy:
    """Halves of halves, down to single values."""
    return sf.Taxonomy.from_nested({"*": _halves(values)})


def _halves(values: Sequence[Any]) -> Any:
    if len(values) <= 2:
        return list(values)
    middle = (len(values) + 1) // 2
    parts = (values[:middle], values[middle:])
    return {f"{part[0]} to {part[-1]}": _halves(part) for part in parts}


def _under(trees: dict[str, sf.Taxonomy], table: sf.Microdata) -> sf.Microdata:
    columns = {of.name: of.decode(table.codes[of.name]) for of in table.quasi}
    schema = sf.Schema(quasi=table.schema.quasi, taxonomies=trees)
    return sf.Microdata.from_arrow(pa.table(columns), schema)
