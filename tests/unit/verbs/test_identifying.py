"""Columns called insensitive that have a value for everybody."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import SfumatoWarning
from sfumato.forms.identifying import different, identifying

ROWS = 400
SCHEMA = sf.Schema(quasi=["age", "sex"], sensitive="ill", insensitive=["visit", "ward"])
SAID = r"'visit' is published as it is and has 400 different values in 400 rows"


def people(visits: int) -> pa.Table:
    place = np.arange(ROWS)
    return pa.table({
        "age": place % 40,
        "sex": np.where(place % 3, "f", "m"),
        "ill": [f"i{one}" for one in place % 7],
        "visit": place % visits,
        "ward": [[one % 5] for one in place.tolist()],
    })  # fmt: skip


def _file(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "in.parquet")
    return folder / "in.parquet"


WAYS: dict[str, Callable[[pa.Table, Path], object]] = {
    "boxes": lambda table, _: sf.publish(sf.read(table, SCHEMA), k=10),
    "anatomy": lambda table, _: sf.publish(sf.read(table, SCHEMA), sf.Anatomize(), l=3),
    "means": lambda table, _: sf.mask(sf.read(table, SCHEMA), sf.Microaggregate(k=5)),
    "noise": lambda table, _: sf.perturb(sf.read(table, SCHEMA), m=3),
    "stream": lambda table, folder: sf.publish_file(
        _file(table, folder), SCHEMA, sf.Mondrian(), sf.KAnonymity(10), folder / "out",
        engine="stream",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_number_of_its_own_for_every_row_is_warned_of(way: str, tmp_path: Path) -> None:
    with pytest.warns(SfumatoWarning, match=SAID):
        WAYS[way](people(ROWS), tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_values_that_people_share_are_not(way: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".* is published as it is")
        WAYS[way](people(ROWS // 2), tmp_path)


def test_rows_that_are_drawn_show_no_number() -> None:
    release = sf.mask(sf.read(people(ROWS), SCHEMA), sf.Synthesize())
    assert "visit" not in release.table.column_names


@pytest.mark.parametrize(
    ("distinct", "rows", "told"), [(51, 100, True), (50, 100, False), (19, 19, False)]
)
def test_most_values_have_one_row(distinct: int, rows: int, told: bool) -> None:
    assert (identifying("visit", distinct, rows) is not None) == told


def test_missing_values_and_lists_are_no_values() -> None:
    assert different(pa.chunked_array([[1, None, None, 2]])) == 2
    assert different(pa.chunked_array([[[1], [2]]])) == 0
