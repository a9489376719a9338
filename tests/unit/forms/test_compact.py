"""Groups once, rows by reference: the same table as the naive one, in a fraction of the room."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, SfumatoWarning
from sfumato.forms.compact import compact

CELL = st.one_of(st.none(), st.lists(st.sampled_from(["a", "b", None]), max_size=3))


@given(
    st.lists(st.tuples(CELL, st.integers(0, 2), st.integers(0, 9)), max_size=25), st.integers(1, 7)
)
def test_lines_and_rows_give_the_table_back(rows: list[tuple[Any, int, int]], step: int) -> None:
    table = pa.table(
        {
            "set": pa.array([row[0] or [] for row in rows], pa.list_(pa.string())),
            "low": pa.array([row[1] for row in rows], pa.int64()),
            "value": pa.array([row[2] for row in rows], pa.int64()),
        }
    )
    pieces = [table.slice(low, step) for low in range(0, max(1, len(rows)), step)]
    lines, line_of_row, others = compact(pieces, ["set", "low"])
    assert lines.num_rows == len({(str(row[0] or []), row[1]) for row in rows})
    assert lines.take(pa.array(line_of_row)).to_pylist() == table.select(["set", "low"]).to_pylist()
    assert others.to_pylist() == table.select(["value"]).to_pylist()


def wide(n: int = 6000) -> sf.Microdata:
    """A text column in which nearly every row differs: the sets of its groups are long."""
    generator = np.random.default_rng(1)
    return sf.Microdata.from_arrow(
        pa.table(
            {"code": [f"code-{i:05}" for i in generator.permutation(n)], "s": ["x", "y"] * (n // 2)}
        ),
        sf.Schema(quasi=["code"], sensitive="s"),
    )


@pytest.mark.slow
def test_long_sets_are_kept_once_per_group(tmp_path: Path) -> None:
    made = sf.publish(wide(), sf.Mondrian(), sf.KAnonymity(1000))
    assert made.groups.num_rows == made.manifest.groups
    assert made.groups.nbytes * 20 < made.table.nbytes
    folder = made.write(tmp_path / "out")
    assert pq.ParquetFile(folder / "generalized.parquet").metadata.num_rows == 6000
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.GeneralizedTable)
    assert loaded.groups.nbytes < 2 * made.groups.nbytes
    assert loaded.table.equals(made.table)
    assert sf.verify(folder).require().groups == made.manifest.groups


TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@pytest.mark.slow
@given(texts=st.lists(st.one_of(st.none(), TEXTS), min_size=2, max_size=30))
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_any_text_survives_the_way_through_a_file(
    file_format: str, texts: list[str | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = pa.table({"age": list(range(len(texts))), "s": pa.array(texts, pa.string())})
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=["age"], sensitive="s"))
    size = data.attributes["s"].size
    assume(size > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)  # of capital letters
        try:
            made = sf.publish(data, sf.Mondrian(), sf.DistinctLDiversity(size))
        except DataError:
            reject()  # one number in two spellings
    folder = made.write(tmp_path_factory.mktemp("out") / "out", format=file_format)  # type: ignore[arg-type]
    sf.verify(folder).require()


def test_a_csv_of_one_column_keeps_its_empty_lines(tmp_path: Path) -> None:
    table = pa.table({"age": pa.array([None, None, 30, 30], pa.int64())})
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=["age"]))
    sf.publish(data, sf.Mondrian(), sf.KAnonymity(2), labels="text").write(
        tmp_path / "out", format="csv"
    )
    assert sf.verify(tmp_path / "out").require().rows == 4
