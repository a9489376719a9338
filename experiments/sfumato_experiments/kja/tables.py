"""The tables of the experiments: persons of a census, and points spread evenly.

The paper takes six attributes of IPUMS (Table 2), which may not be redistributed. In their place
stand persons of the Argentine household survey (eph_2004_2015.parquet), each with the first of
their rows that lacks none of the six; household income stands for the rent, which the survey does
not ask for. 958,515 persons are 95 times 10,000, so the largest ratio is 95 instead of 100.
Without the file there are generated persons (stand_in.py).

UNI has values spread evenly over [0, 1]; here they have four decimals.

A draw follows the paper: MT is a random sample, PD holds MT and further random rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.errors import DataError
from sfumato_experiments.data import DATA_VARIABLE
from sfumato_experiments.kja import stand_in
from sfumato_experiments.paper import Options

ID = "person"
QUASI = ("age", "income_total", "household_size", "years_education", "household_income", "sex")
SURVEY = "eph_2004_2015.parquet"
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Scale:
    """Table 3: what each part varies, and what the others keep."""

    microdata: int
    ratios: tuple[int, ...]
    ks: tuple[int, ...]
    ds: tuple[int, ...]
    shares: tuple[int, ...]  # of the domain space, in percent
    k: int
    d: int
    share: int
    queries: int


FULL = Scale(
    microdata=10_000,
    ratios=(1, 5, 10, 50, 95),
    ks=(5, 10, 50, 100, 500),
    ds=(2, 3, 4, 5, 6),
    shares=(2, 5, 10, 20, 50),
    k=50,
    d=4,
    share=10,
    queries=100,
)
QUICK = Scale(
    microdata=1_000,
    ratios=(1, 5, 20),
    ks=(5, 20, 100),
    ds=(2, 4),
    shares=(2, 10, 50),
    k=20,
    d=4,
    share=10,
    queries=50,
)
UNIFORM_RATIO = 100


def scale_of(options: Options) -> Scale:
    """The paper's sizes, or enough to see the trend."""
    return QUICK if options.quick else FULL


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A population. ``rows`` has an id and the six quasi-identifiers; ``said`` tells their origin.

    NCP is relative to the ``widths`` of the population's domains, whatever part of it was drawn.
    """

    rows: pa.Table
    said: str

    @property
    def quasi(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers, in Table 2's order."""
        return tuple(name for name in self.rows.column_names if name != ID)

    def domain(self, name: str) -> tuple[float, float]:
        """The smallest and the largest value."""
        ends = pa.compute.min_max(self.rows[name]).as_py()
        return float(ends["min"]), float(ends["max"])

    def widths(self, d: int) -> Mapping[str, float]:
        """The extent of the first d domains."""
        return {name: high - low for name in self.quasi[:d] for low, high in [self.domain(name)]}

    def draw(self, microdata: int, ratio: int, d: int, seed: int) -> tuple[sf.Microdata, pa.Table]:
        """MT and PD: samples in which a larger ratio only adds rows to PD."""
        order = np.random.default_rng(seed).permutation(self.rows.num_rows)[: microdata * ratio]
        quasi = self.quasi[:d]
        external = self.rows.select([ID, *quasi]).take(pa.array(order))
        schema = sf.Schema(identifiers=[ID], quasi=quasi)
        table = sf.Microdata.from_arrow(external.slice(0, microdata), schema, id=ID)
        return table, external


Population: TypeAlias = Callable[[int], Source]


def census(folder: Path | None, most: int) -> Population:
    """The same persons for every seed: real where a folder is named (or SFUMATO_DATA is)."""
    named = folder or os.environ.get(DATA_VARIABLE)
    source = _real(Path(named) / SURVEY) if named else _generated(most)
    return lambda _: source


def uniform(most: int) -> Population:
    """Other points for every seed."""
    return lambda seed: _points(most, seed)


@lru_cache(maxsize=1)
def _real(path: Path) -> Source:
    rows, persons = persons_first(path)
    rows = rows.slice(0, persons).combine_chunks()
    said = f"census: {rows.num_rows:,} persons of Argentina 2004-2015 (EPH), one row each"
    return Source(numbered(rows), said)


@lru_cache(maxsize=1)
def _generated(most: int) -> Source:
    said = (
        f"STAND-IN: {most:,} generated persons. For real ones name the folder of {SURVEY}: "
        f"--data or {DATA_VARIABLE}"
    )
    return Source(numbered(stand_in.persons(most, seed=0)), said)


@lru_cache(maxsize=2)
def _points(most: int, seed: int) -> Source:
    values = np.random.default_rng([seed, 1]).random((len(QUASI), most)).round(DECIMALS)
    names = [f"q{place + 1}" for place in range(len(QUASI))]
    rows = pa.table(dict(zip(names, values, strict=True)))
    return Source(numbered(rows), f"uniform: values in [0, 1] with {DECIMALS} decimals")


def numbered(rows: pa.Table) -> pa.Table:
    """The rows with an id in front."""
    return rows.add_column(0, ID, pa.array(np.arange(rows.num_rows)))


def persons_first(path: Path) -> tuple[pa.Table, int]:
    """All complete rows, the first one of each person before any other; and how many persons."""
    if not path.is_file():
        raise DataError(
            f"no file {path}; name the folder that holds {path.name}, or none for a stand-in",
            source=str(path),
        )
    key = ["household_id", "person_no"]
    rows = pq.read_table(path, columns=[*key, *QUASI]).replace_schema_metadata(None).drop_null()
    household, person = (rows[name].to_numpy().astype(np.int64) for name in key)
    _, firsts = np.unique(household * 100 + person, return_index=True)
    later = np.ones(rows.num_rows, np.bool_)
    later[firsts] = False
    order = np.concatenate([np.sort(firsts), np.flatnonzero(later)])
    return rows.select(list(QUASI)).take(pa.array(order)), len(firsts)
