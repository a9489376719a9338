"""Series of join releases: who comes in, who waits, and what is refused."""

from __future__ import annotations

import json
import os
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import DataError, Infeasible, ParameterError, SfumatoWarning, StoreError
from sfumato.io.locks import take_lock
from sfumato.io.series_files import remembered
from tests.support.joins import microdata_with_ids

PEOPLE = 300
CHANCE = np.random.default_rng(3)
X, Y = CHANCE.integers(0, 40, (2, PEOPLE))
ILL = CHANCE.choice(["flu", "cold", "gout"], PEOPLE)
METHOD = sf.Refinement(sf.Mondrian())
K = sf.KJoinAnonymity(5)


def table(rows: Any, ill: Any = ILL) -> sf.Microdata:
    columns = {"id": rows, "x": X[rows], "y": Y[rows], "ill": pa.array(ill[rows].tolist())}
    return microdata_with_ids(columns, quasi=["x", "y"], sensitive="ill")


def listed(rows: Any) -> pa.Table:
    return pa.table({"id": rows, "x": X[rows], "y": Y[rows]})


def publish(own: int, known: int, folder: Path, **other: Any) -> sf.JoinRelease:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        rows, ids = np.arange(own), np.arange(known)
        return sf.publish_join(
            other.pop("table", None) or table(rows),
            listed(ids),
            other.pop("method", METHOD),
            other.pop("model", K),
            series=folder / "series",
            **other,
        )


def test_releases_of_one_series_are_no_second_releases_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    publish(60, 120, tmp_path).write(tmp_path / "january")
    sf.load(tmp_path / "january").write(tmp_path / "copy", format="csv")
    publish(60, 200, tmp_path).write(tmp_path / "february")
    publish(60, 300, tmp_path).write(tmp_path / "february", force=True)
    (tmp_path / "other").mkdir()
    with pytest.warns(SfumatoWarning, match=r"published already: .*copy.*february"):
        publish(60, 120, tmp_path / "other").write(tmp_path / "march")


def in_table(release: sf.JoinRelease) -> int:
    return int(sum(release.sensitive_groups["count"].to_pylist()))


def test_newcomers_come_in_when_they_are_enough_and_wait_until_then(tmp_path: Path) -> None:
    first = publish(60, 120, tmp_path)
    assert in_table(first) == 60
    rows, ids = np.arange(63), np.arange(120)
    with pytest.warns(SfumatoWarning, match="3 rows wait for a later release"):
        few = sf.publish_join(table(rows), listed(ids), METHOD, K, series=tmp_path / "series")
    assert in_table(few) == 60
    later = publish(200, 300, tmp_path)
    assert in_table(later) > 100
    assert later.manifest.rows > first.manifest.rows
    sf.verify(later.write(tmp_path / "out")).require()
    again = publish(200, 300, tmp_path)
    assert again.manifest.rows >= later.manifest.rows


def test_promises_about_values_hold_for_newcomers_too(tmp_path: Path) -> None:
    model = K & sf.DistinctLDiversity(2)
    release = [publish(own, 300, tmp_path, model=model) for own in (60, 200)][-1]
    sf.verify(release.write(tmp_path / "out")).require()
    same = np.where(np.arange(PEOPLE) < 200, ILL, "flu")
    more = publish(0, 300, tmp_path, model=model, table=table(np.arange(260), same))
    assert in_table(more) == in_table(release)  # sixty people with the flu hide from nobody


def test_with_direct_everybody_with_a_line_is_in_at_once(tmp_path: Path) -> None:
    first = publish(100, 300, tmp_path, method=sf.Direct(sf.Mondrian()))
    state = remembered(tmp_path / "series")
    assert state is not None
    assert (state.rows > 0).sum() == 100
    publish(130, 300, tmp_path, method=sf.Direct(sf.Mondrian()))
    after = remembered(tmp_path / "series")
    assert after is not None
    assert (after.rows > 0).sum() > 100
    assert first.manifest.rows <= len(after.people)


def test_what_was_published_cannot_be_unsaid(tmp_path: Path) -> None:
    publish(60, 120, tmp_path)
    with pytest.raises(DataError, match="2 rows that the series has published are missing"):
        publish(0, 120, tmp_path, table=table(np.arange(2, 90)))
    changed = ILL.copy()
    changed[7] = "plague"
    with pytest.raises(DataError, match=r"1 rows .* have other values"):
        publish(0, 120, tmp_path, table=table(np.arange(90), changed))
    assert in_table(publish(60, 120, tmp_path)) == 60  # a refusal changes nothing


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"model": sf.KJoinAnonymity(6)}, "with k = 5, not 6"),
        ({"method": sf.Refinement(sf.TopDown())}, "series with algorithm"),
        ({"labels": "sets"}, "with labels = ranges"),
        ({"engine": "stream"}, "in memory"),
    ],
)
def test_a_series_is_made_in_one_way(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    publish(60, 120, tmp_path)
    with pytest.raises(ParameterError, match=said):
        publish(90, 120, tmp_path, **other)


def test_the_folder_is_the_owners_and_lists_nobody(tmp_path: Path) -> None:
    publish(60, 120, tmp_path)
    folder = tmp_path / "series"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    people = remembered(folder)
    assert people is not None
    assert not np.isin(people.people, np.arange(PEOPLE)).any()
    assert "flu" not in (folder / "series.json").read_text()
    assert (np.diff(people.people.astype(object)) > 0).all()


def test_too_few_people_to_begin_with_leave_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(Infeasible):
        publish(3, 120, tmp_path)
    assert not (tmp_path / "series").exists()


def test_one_release_at_a_time_and_whole_folders_only(tmp_path: Path) -> None:
    publish(60, 120, tmp_path)
    handle = take_lock(tmp_path / ".series.lock")
    try:
        with pytest.raises(StoreError, match="in use"):
            publish(90, 120, tmp_path)
    finally:
        os.close(handle)
    made = tmp_path / "series" / "series.json"
    stated = json.loads(made.read_text())
    made.write_text(json.dumps({**stated, "version": 9}))
    with pytest.raises(StoreError, match="not a series of join releases"):
        publish(90, 120, tmp_path)
