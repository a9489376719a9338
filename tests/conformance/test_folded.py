"""A release that is asked slice by slice answers as the whole of it does, whoever asks."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.asking import folded
from sfumato.core.answer import Result
from sfumato.core.askable import Askable
from sfumato.engines.choice import CLUSTERS
from sfumato.errors import (
    MachineError,
    ParameterError,
    QueryRefused,
    ReleaseError,
    SfumatoWarning,
)
from sfumato.forms.registry import FORMS
from sfumato.io import writing
from tests.support.clusters import Cluster, Replaying
from tests.support.clusters import cluster as real_cluster

TREE = sf.Taxonomy.from_nested({"any": {"north": ["a", "b"], "south": ["c", "d"]}})
QUESTIONS = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 52",
    "SELECT COUNT(*) FROM t WHERE age < 44 AND town IN ('a', 'c') AND ill = 'flu'",
    "SELECT COUNT(*) FROM t WHERE weight > 61.5 AND ill <> 'gout'",
    "SELECT COUNT(*) FROM t WHERE ill = 'mumps' AND note = 1",
    "SELECT COUNT(weight) FROM t WHERE weight IS NOT NULL AND age > 60",
    "SELECT COUNT(*) FROM t WHERE ill = 'nothing that anybody has'",
    "SELECT ill, COUNT(*) FROM t WHERE age < 50 GROUP BY ill",
    "SELECT town, COUNT(*) FROM t WHERE ill = 'flu' OR ill = 'cold' GROUP BY town",
    "SELECT age, COUNT(*) FROM t WHERE note < 2 GROUP BY age",
    "SELECT note, ill, COUNT(*) FROM t GROUP BY note, ill",
)
FORMS_OF: dict[str, dict[str, Any]] = {
    "ranges": {"algorithm": sf.Mondrian(), "model": sf.KAnonymity(4)},
    "sets": {"algorithm": sf.Mondrian(), "model": sf.KAnonymity(4), "labels": "sets"},
    "taxonomy": {"algorithm": sf.Mondrian(), "model": sf.KAnonymity(4), "labels": "taxonomy"},
    "left out": {"algorithm": sf.FullDomain(suppress=0.2), "model": sf.KAnonymity(3)},
    "cells": {"algorithm": sf.Mondrian(), "model": sf.KAnonymity(3), "labels": "suppression"},
    "anatomized": {"algorithm": sf.Anatomize(), "model": sf.LDiversity(2)},
    "permuted": {"algorithm": sf.Mondrian(), "model": sf.LDiversity(2), "form": "permuted"},
}


def people(rows: int = 700) -> Any:
    chance = np.random.default_rng(8)
    table = pa.table(
        {
            "age": chance.integers(18, 90, rows),
            "town": pa.array(chance.choice(["a", "b", "c", "d"], rows)),
            "weight": pa.array(chance.normal(70, 9, rows).round(1), mask=chance.random(rows) < 0.1),
            "ill": chance.choice(["flu", "cold", "gout", "mumps", "ague"], rows),
            "note": pa.array(chance.integers(0, 3, rows), mask=chance.random(rows) < 0.1),
        }
    )
    schema = sf.Schema(
        quasi=["age", "town", "weight"], sensitive="ill", insensitive=["note"],
        taxonomies={"town": TREE},
    )  # fmt: skip
    return sf.read(table, schema)


@pytest.fixture(name="small", autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "ROW_GROUP", 61)
    monkeypatch.setattr(folded, "SLICE_ROWS", 100)
    warnings.simplefilter("ignore", SfumatoWarning)


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


def written(name: str, folder: Path, table: Any = None, **more: Any) -> Path:
    how = dict(FORMS_OF[name])
    release = sf.publish(table or people(), how.pop("algorithm"), how.pop("model"), seed=5, **how)
    return Path(release.write(folder / "out", experiment=True, **more))


def answered(source: Askable, question: str) -> Result | str:
    try:
        return source.query(question)
    except QueryRefused as refusal:
        return str(refusal)


def alike(found: Result | str, expected: Result | str) -> None:
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert (found.by, found.names, found.keys) == (expected.by, expected.names, expected.keys)
    assert found.types == expected.types
    for line, other in zip(found.answers, expected.answers, strict=True):
        for one, two in zip(line, other, strict=True):
            assert (one.lo, one.hi) == (two.lo, two.hi)
            assert one.estimate == pytest.approx(two.estimate, rel=1e-12, abs=1e-9)


def test_some_cells_are_suppressed_and_others_not(tmp_path: Path) -> None:
    release = sf.load(written("cells", tmp_path))
    assert isinstance(release, sf.GeneralizedTable)
    assert set(release.groups.column("town_suppressed").to_pylist()) == {True, False}


def test_every_form_that_counts_by_groups_is_asked_here() -> None:
    kinds = {FORMS[name].name for name in FORMS if FORMS[name].slices is not None}
    assert kinds == {"generalized", "anatomized", "permuted"}


@pytest.mark.parametrize("name", FORMS_OF)
def test_slices_answer_as_the_whole(name: str, tmp_path: Path) -> None:
    folder = written(name, tmp_path)
    whole = sf.load(folder)
    with sf.open_release(folder) as release:
        assert len(release.slices) > 3
        for question in QUESTIONS:
            alike(answered(release, question), answered(whole, question))
        counted, expected = release.counts(QUESTIONS[:4]), whole.counts(QUESTIONS[:4])
        assert (counted.lo.tolist(), counted.hi.tolist()) == (
            expected.lo.tolist(), expected.hi.tolist()
        )  # fmt: skip


@pytest.mark.parametrize("room", [1, 9_000, 30_000, 2**40])
@pytest.mark.parametrize("name", ["cells", "anatomized"])
def test_slices_answer_the_same_however_much_is_kept(
    name: str, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folded, "_KEPT_SHARE", 1)
    folder = written(name, tmp_path)
    whole = sf.load(folder)
    with sf.open_release(folder, memory_limit=room) as release:
        assert release.room == room
        for question in (*QUESTIONS, *QUESTIONS[::-1]):
            alike(answered(release, question), answered(whole, question))


def test_a_slice_is_read_again_only_for_columns_that_nobody_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written("ranges", tmp_path)
    form = FORMS["generalized"]
    assert form.slices is not None
    read: list[set[str]] = []

    def spied(files: Any, item: Any, names: Any) -> Any:
        read.append(set(names))
        assert form.slices is not None
        return form.slices.read(files, item, names)

    spying = replace(form, slices=form.slices._replace(read=spied))
    monkeypatch.setitem(FORMS, "generalized", spying)
    with sf.open_release(folder) as release:
        number = len(release.slices)
        read.clear()
        release.count("age < 40")
        release.count("age < 50")
        assert read == [{"age"}] * number
        release.count("town = 'a'")
        release.count("age < 40 AND town = 'b'")
        assert read[number:] == [{"age", "town"}] * number
    with sf.open_release(folder) as release:
        read.clear()
        release.count("age < 40")
        assert read == [{"age"}] * number


@pytest.mark.parametrize("name", ["ranges", "cells", "anatomized"])
@pytest.mark.parametrize("change", ["larger", "smaller", "removed"])
def test_a_release_that_changed_since_it_was_opened_is_not_asked(
    change: str, name: str, tmp_path: Path
) -> None:
    """It was cut as it was then: bounds would be those of neither release."""
    folder = written(name, tmp_path)
    question = "town = 'a' AND age < 60"
    with sf.open_release(folder) as release, sf.open_release(folder) as untouched:
        expected = release.count(question)
        if change == "removed":
            shutil.rmtree(folder)
        else:
            written(name, tmp_path, people(900 if change == "larger" else 400), force=True)
        for one in (release, untouched):
            with pytest.raises(ReleaseError, match="changed since it was opened; open it again"):
                one.count(question)
    if change != "removed":
        with sf.open_release(folder) as release:
            assert release.count(question) != expected


def test_a_release_that_changes_while_it_is_read_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written("ranges", tmp_path)
    form = FORMS["generalized"]
    assert form.slices is not None
    read = form.slices.read

    def replaced(files: Any, item: Any, names: Any) -> Any:
        if item.high:  # not when it is opened
            written("ranges", tmp_path, people(900), force=True)
        return read(files, item, names)

    spying = replace(form, slices=form.slices._replace(read=replaced))
    monkeypatch.setitem(FORMS, "generalized", spying)
    changed = pytest.raises(ReleaseError, match="changed since it was opened")
    with sf.open_release(folder) as release, changed:
        release.count("age < 40")


@pytest.mark.parametrize("name", ["ranges", "anatomized"])
def test_a_slice_that_is_asked_twice_answers_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = Replaying(2**30)
    monkeypatch.setattr(folded, "open_workers", lambda *_: nullcontext(workers))
    folder = written(name, tmp_path)
    with sf.open_release(folder, engine="dask") as release:
        for question in QUESTIONS:
            alike(answered(release, question), answered(sf.load(folder), question))
    assert {name for name, _ in workers.stages} == {"count", "count by value"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("name", ["ranges", "anatomized"])
def test_a_real_cluster_answers_as_one_process(name: str, real: Cluster, tmp_path: Path) -> None:
    folder = written(name, tmp_path)
    whole = sf.load(folder)
    with sf.open_release(folder, **real.how()) as release:
        for question in QUESTIONS[:4] + QUESTIONS[-2:]:
            alike(answered(release, question), answered(whole, question))


def test_what_is_not_a_count_is_refused(tmp_path: Path) -> None:
    folder = written("ranges", tmp_path)
    with sf.open_release(folder) as release:
        with pytest.raises(QueryRefused, match="AVG is about all rows together"):
            release.query("SELECT AVG(age) FROM t")
        with pytest.raises(ParameterError, match="load it into memory"):
            sf.matching(release, QUESTIONS[:1])


def test_what_cannot_be_asked_in_one_slice_is_refused(tmp_path: Path) -> None:
    table = people().insensitive
    numbers = [0.5] * table.num_rows
    numbers[300] = float("inf")
    rows = pa.table({"age": [i % 40 for i in range(700)], "ill": ["flu", "cold"] * 350,
                     "far": numbers})  # fmt: skip
    schema = sf.Schema(quasi=["age"], sensitive="ill", insensitive=["far"])
    made = sf.publish(sf.read(rows, schema), sf.Mondrian(), sf.KAnonymity(3), seed=5)
    folder = made.write(tmp_path / "out", experiment=True)
    with sf.open_release(folder) as release, pytest.raises(QueryRefused):
        release.count("far < 1")


def test_files_that_cannot_be_cut_are_named(tmp_path: Path) -> None:
    folder = written("ranges", tmp_path, format="csv")
    with pytest.raises(ParameterError, match="only Parquet files are asked piece by piece"):
        sf.open_release(folder)
    with pytest.raises(ParameterError, match="reads a whole release: use load"):
        sf.open_release(folder, engine="memory")
    with pytest.raises(ParameterError, match="has no scheduler"):
        sf.open_release(folder, scheduler="tcp://127.0.0.1:1")


def test_a_form_that_is_asked_as_a_whole_is_refused(tmp_path: Path) -> None:
    noisy = sf.perturb(people(), m=4, seed=5)
    folder = noisy.write(tmp_path / "out", experiment=True)
    with pytest.raises(ParameterError, match="a perturbed release is asked as a whole"):
        sf.open_release(folder)


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    folder = written("ranges", tmp_path)
    with (
        pytest.raises(MachineError, match="no Dask scheduler answers"),
        sf.open_release(folder, engine="dask", scheduler="tcp://127.0.0.1:1"),
    ):
        pass
