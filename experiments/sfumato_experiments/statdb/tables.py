"""The tables n-SAL-d: the first d of seven quasi-identifiers, the salary class, n rows.

The paper's SAL, 600,000 American adults of IPUMS, may not be redistributed. In its place stand
Argentine employees 2004-2015 (eph_2004_2015.parquet): one row per person as far as persons last,
then further quarters of the same persons; relationship in place of race, the 56 most frequent
birthplaces and one for the rest. Without the file there are the generated rows of the Anatomy
experiments, with domains cut to the sizes of SAL.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.errors import DataError
from sfumato_experiments.anatomy import stand_in
from sfumato_experiments.data import DATA_VARIABLE
from sfumato_experiments.paper import Options

QUASI = ("age", "gender", "marital", "birthplace", "education", "occupation", "race")
SALARY = "salary"
SURVEY = "eph_2004_2015.parquet"
_BIRTHPLACES, _ELSEWHERE = 56, 999


class Scale(NamedTuple):
    """Table 4: what each part varies, and what the others keep."""

    ds: tuple[int, ...]
    shares: tuple[int, ...]  # ql, in percent
    lambdas: tuple[int, ...]
    ns: tuple[int, ...]
    d: int
    share: int
    dimensions: int  # lambda
    queries: int

    @property
    def n(self) -> int:
        """The rows of the tables where n does not vary: all."""
        return self.ns[-1]


FULL = Scale(
    ds=(3, 4, 5, 6, 7),
    shares=(2, 4, 6, 8, 10),
    lambdas=(1, 2, 3),
    ns=(100_000, 200_000, 300_000, 400_000, 500_000, 600_000),
    d=7,
    share=6,
    dimensions=2,
    queries=2_000,
)
QUICK = FULL._replace(ds=(3, 5, 7), shares=(2, 6, 10), ns=(20_000, 40_000, 60_000), queries=100)


def scale_of(options: Options) -> Scale:
    """Table 4, or less of it, with as many queries as wanted."""
    scale = QUICK if options.quick else FULL
    return scale._replace(queries=options.queries or scale.queries)


class Source(NamedTuple):
    """Rows with all columns; ``said`` tells where they come from."""

    rows: pa.Table
    said: str

    def table(self, d: int, n: int) -> sf.Microdata:
        """n-SAL-d: rows are in random order, so the first n are a sample."""
        quasi = QUASI[:d]
        rows = self.rows.select([*quasi, SALARY]).slice(0, n)
        return sf.Microdata.from_arrow(rows, sf.Schema(quasi=quasi, sensitive=SALARY))


def source(options: Options) -> Source:
    """Real rows where a folder is named (or SFUMATO_DATA is), else generated ones."""
    return _source(folder_of(options), scale_of(options).n)


def folder_of(options: Options) -> Path | None:
    """The folder of real tables, if there is one."""
    named = options.data or os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


@lru_cache(maxsize=1)
def _source(folder: Path | None, most: int) -> Source:
    if folder is not None:
        return survey(folder, most)
    said = (
        f"STAND-IN: {most:,} generated rows with the paper's domain sizes. For real ones name "
        f"the folder that holds {SURVEY}: --data or {DATA_VARIABLE}"
    )
    return Source(generated(most), said)


def survey(folder: Path, most: int) -> Source:
    """SAL from the household survey."""
    path = folder / SURVEY
    if not path.is_file():
        raise DataError(
            f"no file {path}; name the folder that holds {SURVEY}, or none for a stand-in",
            source=str(path),
        )
    used = ["age", "sex", "marital_status", "birthplace", "education", "occupation_group"]
    columns = [*used, "relationship", "salary_class", "household_id", "person_no"]
    rows = pq.read_table(path, columns=columns).drop_null().replace_schema_metadata(None)
    order, persons = _persons_first(rows)
    rows = rows.take(pa.array(order[:most])).combine_chunks().select(columns[:-2])
    rows = rows.rename_columns([*QUASI, SALARY])
    place = QUASI.index("birthplace")
    rows = rows.set_column(place, "birthplace", _most_frequent(rows["birthplace"].to_numpy()))
    said = f"SAL: Argentine employees 2004-2015 (EPH), {rows.num_rows:,} rows"
    if rows.num_rows > persons:
        said += f", of which {rows.num_rows - persons:,} are further quarters of the same persons"
    return Source(rows, said)


def generated(rows: int) -> pa.Table:
    """Rows of the stand-in for CENSUS; domains that are larger than SAL's are cut."""
    table = stand_in.census(rows, seed=0)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    columns["birthplace"] = columns["country"] % 57
    columns["occupation"] = columns["occupation"] // 2
    columns["race"] = np.minimum(columns["race"], 7)
    return pa.table({name: columns[name] for name in (*QUASI, SALARY)})


def _persons_first(rows: pa.Table) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    """A fixed random order in which everybody's first row comes before anybody's second."""
    shuffled = np.random.default_rng(0).permutation(rows.num_rows)
    persons = rows["household_id"].to_numpy().astype(np.int64) * 100 + rows["person_no"].to_numpy()
    _, firsts = np.unique(persons[shuffled], return_index=True)
    repeated = np.ones(len(shuffled), np.bool_)
    repeated[firsts] = False
    return np.concatenate([shuffled[~repeated], shuffled[repeated]]), len(firsts)


def _most_frequent(column: np.ndarray[Any, Any]) -> pa.Array:
    values, counts = np.unique(column, return_counts=True)
    frequent = values[np.argsort(-counts, kind="stable")[:_BIRTHPLACES]]
    return pa.array(np.where(np.isin(column, frequent), column, _ELSEWHERE))
