"""The tables of Anatomy's experiments: OCC-d and SAL-d.

OCC-d has the first d of seven quasi-identifiers and the occupation as sensitive attribute, SAL-d
the salary class (Table 6 of the paper). CENSUS itself cannot be redistributed; in its place stand

- OCC-d: American workers of 2018 (acs2018_workers.parquet), rows in the file's random order;
  education regrouped to the paper's 17 levels, relationship in place of the marital status
- SAL-d: Argentine employees 2004-2015 (eph_2004_2015.parquet), one row per person as far as
  persons last, then further quarters of the same persons; relationship in place of race,
  worker category x sector as work class, the 56 most frequent birthplaces and one for the rest
- without these files: generated rows with the paper's nine domain sizes, correlated through two
  hidden traits (independent columns would hide what the experiments measure)

As in the paper, age and education are generalized to free intervals and the other attributes along
taxonomies. The paper prints their heights only; the trees are ours, with about as many levels. Our
Mondrian cuts between any two neighbouring leaves, and shows the lowest label above a group.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.errors import DataError
from sfumato_experiments.anatomy import stand_in
from sfumato_experiments.data import DATA_VARIABLE

QUASI = ("age", "gender", "education", "marital", "race", "work_class", "country")
WORKERS, EMPLOYEES = "acs2018_workers.parquet", "eph_2004_2015.parquet"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A family of tables: OCC or SAL. ``said`` tells where its rows come from."""

    name: str
    rows: pa.Table
    sensitive: str
    taxonomies: Mapping[str, sf.Taxonomy]
    said: str

    def table(self, d: int, n: int) -> sf.Microdata:
        """The first n rows with the first d quasi-identifiers."""
        quasi = QUASI[:d]
        schema = sf.Schema(
            quasi=quasi,
            sensitive=self.sensitive,
            taxonomies={name: tree for name, tree in self.taxonomies.items() if name in quasi},
        )
        return sf.Microdata.from_arrow(
            self.rows.select([*quasi, self.sensitive]).slice(0, n), schema
        )


def sources(folder: Path | None, most: int) -> tuple[Source, Source]:
    """OCC and SAL with up to ``most`` rows, real where a folder is named (or SFUMATO_DATA is)."""
    named = folder or os.environ.get(DATA_VARIABLE)
    if named:
        return occ(Path(named), most), sal(Path(named), most)
    rows = stand_in.census(most, seed=0)
    said = (
        f"STAND-IN: {most:,} generated rows with the paper's domain sizes. For real tables name "
        f"their folder: --data or {DATA_VARIABLE}"
    )
    trees = {name: _taxonomy(tree) for name, tree in stand_in.TREES.items()}
    return (
        Source("OCC", rows, "occupation", trees, said),
        Source("SAL", rows, "salary", trees, said),
    )


def occ(folder: Path, most: int) -> Source:
    """OCC-d from the census workers."""
    wanted = ["age", "gender", "education", "relationship", "race", "work_class", "country"]
    rows = _read(folder / WORKERS, [*wanted, "occupation"]).slice(0, most)
    rows = rows.rename_columns([*QUASI, "occupation"])
    rows = _replaced(rows, "education", _EDUCATION[rows["education"].to_numpy()])
    trees = {**_WORKER_TREES, "country": _countries(rows["country"])}
    said = f"OCC: American workers 2018 (ACS), {rows.num_rows:,} rows"
    return Source("OCC", rows, "occupation", _trees(trees, rows), said)


def sal(folder: Path, most: int) -> Source:
    """SAL-d from the Argentine household survey."""
    used = ["age", "sex", "education", "marital_status", "relationship", "birthplace"]
    rows = _read(
        folder / EMPLOYEES,
        ["household_id", "person_no", *used, "worker_category", "sector", "salary_class"],
    ).drop_null()
    order, persons = _persons_first(rows)
    rows = rows.take(pa.array(order[:most]))
    work = pc.add(pc.multiply(rows["worker_category"], 10), rows["sector"])
    table = pa.table(
        {
            "age": rows["age"],
            "gender": rows["sex"],
            "education": rows["education"],
            "marital": rows["marital_status"],
            "race": rows["relationship"],
            "work_class": work,
            "country": _most_frequent(rows["birthplace"], 56),
            "salary_class": rows["salary_class"],
        }
    )
    trees = {**_EMPLOYEE_TREES, "country": _birthplaces(table["country"])}
    trees["work_class"] = _work_classes(table["work_class"])
    said = f"SAL: Argentine employees 2004-2015 (EPH), {table.num_rows:,} rows"
    if table.num_rows > persons:
        said += f", of which {table.num_rows - persons:,} are further quarters of the same persons"
    return Source("SAL", table, "salary_class", _trees(trees, table), said)


def _read(path: Path, columns: Sequence[str]) -> pa.Table:
    if not path.is_file():
        raise DataError(
            f"no file {path}; name the folder that holds {path.name}, or none for a stand-in",
            source=str(path),
        )
    return pq.read_table(path, columns=list(columns)).replace_schema_metadata(None)


def _replaced(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def _persons_first(rows: pa.Table) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    """A fixed random order in which everybody's first row comes before anybody's second."""
    shuffled = np.random.default_rng(0).permutation(rows.num_rows)
    persons = rows["household_id"].to_numpy().astype(np.int64) * 100 + rows["person_no"].to_numpy()
    _, firsts = np.unique(persons[shuffled], return_index=True)
    repeated = np.ones(len(shuffled), np.bool_)
    repeated[firsts] = False
    return np.concatenate([shuffled[~repeated], shuffled[repeated]]), len(firsts)


def _most_frequent(column: pa.ChunkedArray, kept: int) -> pa.Array:
    values, counts = np.unique(column.to_numpy(), return_counts=True)
    frequent = values[np.argsort(-counts, kind="stable")[:kept]]
    return pa.array(np.where(np.isin(column.to_numpy(), frequent), column.to_numpy(), 999))


# 24 levels of schooling to 17, as ../shared/data/README.md groups them; index 0 is unused.
_EDUCATION = np.array(
    [0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 17], np.int16
)

_WORKER_TREES: dict[str, Any] = {
    "gender": {"any": [1, 2]},
    "marital": {  # relationship to the householder
        "any": {
            "couple": [0, 1, 13],
            "child": [2, 3, 4, 14, 7],
            "other relative": [5, 6, 8, 9, 10],
            "not related": [11, 12, 15, 16, 17],
        }
    },
    "race": {"any": [1, 2, 3, 4, 5]},
    "work_class": {
        "any": {
            "employee": {"private": [1, 2], "government": [3, 4, 5]},
            "own account": {"self-employed": [6, 7], "unpaid": [8]},
        }
    },
}
_EMPLOYEE_TREES: dict[str, Any] = {
    "gender": {"any": [1, 2]},
    "marital": {"any": {"together": [1, 2], "alone": [3, 4, 5]}},
    "race": {"any": list(range(1, 11))},  # relationship to the householder
}


def _trees(nested: Mapping[str, Any], rows: pa.Table) -> dict[str, sf.Taxonomy]:
    """Taxonomies with only the leaves that some row has."""
    return {
        name: _taxonomy(_pruned(tree, set(rows[name].unique().to_pylist())))
        for name, tree in nested.items()
    }


def _taxonomy(nested: Any) -> sf.Taxonomy:
    return sf.Taxonomy.from_nested(nested)


def _pruned(tree: Any, present: set[Any]) -> Any:
    if isinstance(tree, Mapping):
        below = {label: _pruned(under, present) for label, under in tree.items()}
        return {label: under for label, under in below.items() if under}
    return [leaf for leaf in tree if leaf in present]


def _bands(column: pa.ChunkedArray, bands: Mapping[str, range]) -> dict[str, Any]:
    values = sorted(column.unique().to_pylist())
    found = {name: [value for value in values if value in band] for name, band in bands.items()}
    named = {value for leaves in found.values() for value in leaves}
    return {"any": {**found, "elsewhere": [value for value in values if value not in named]}}


def _countries(column: pa.ChunkedArray) -> dict[str, Any]:
    """Continents of the census codes of birthplaces."""
    return _bands(
        column,
        {
            "United States": range(100),
            "Europe": range(100, 200),
            "Asia": range(200, 300),
            "America": range(300, 400),
            "Africa": range(400, 500),
        },
    )


def _birthplaces(column: pa.ChunkedArray) -> dict[str, Any]:
    return _bands(column, {"Argentina": range(1, 100), "abroad": range(100, 999)})


def _work_classes(column: pa.ChunkedArray) -> dict[str, Any]:
    """Category x sector: employers and employees by category."""
    return _bands(
        column,
        {
            "employer": range(10, 20),
            "own account": range(20, 30),
            "employee": range(30, 40),
            "unpaid": range(40, 50),
        },
    )
