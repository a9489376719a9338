"""Second releases of the same rows: the owner is told, and only the owner."""

from __future__ import annotations

import gc
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import SfumatoWarning
from sfumato.forms import remembering
from sfumato.forms.registry import Release
from sfumato.forms.remembering import forget
from sfumato.io.folders import RELEASE_FILES
from tests.support.seeds import long_seed

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="ill")


def rows(seed: int = 3, n: int = 200) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "town": rng.choice(["Ulm", "Bonn, west", "Jena"], n),
            "ill": rng.choice(["flu", "cold", "gout", "none"], n),
        }
    )


def table(seed: int = 3) -> sf.Microdata:
    return sf.read(rows(seed), SCHEMA)


def apart(of: sf.Microdata | None = None, seed: int | None = None) -> sf.AnatomizedTables:
    key = None if seed is None else long_seed(seed)
    return sf.publish(of or table(), sf.Anatomize(), sf.LDiversity(2), seed=key)


def boxes(k: int = 5) -> sf.GeneralizedTable:
    return sf.publish(table(), sf.Mondrian(), sf.KAnonymity(k))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(remembering, "_said", set())
    return tmp_path / "state"


def warned(*names: str) -> Any:
    return pytest.warns(SfumatoWarning, match="published already: .*".join(["", *names]))


def test_a_second_release_of_the_same_rows_is_told(tmp_path: Path) -> None:
    apart().write(tmp_path / "first")
    with warned("first") as caught:
        apart().write(tmp_path / "second")
    said = str(caught[0].message)
    assert "add up" in said
    assert f"sfumato convert {tmp_path / 'first'} NEW --format" in said
    assert caught[0].filename == __file__
    with warned("first.*second"):
        boxes().write(tmp_path / "third")


def test_of_many_releases_one_that_is_named_is_to_be_converted(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        for k in range(4, 9):
            boxes(k).write(tmp_path / f"of_{k}")
    with warned("and 2 more") as caught:
        apart().write(tmp_path / "last")
    named, advised = str(caught[0].message).split("sfumato convert ")
    assert f"{advised.split()[0]} (of " in named


def test_in_memory_nothing_is_said_and_nothing_is_written(state: Path) -> None:
    apart()
    apart()
    boxes()
    assert not state.exists()


def test_other_rows_say_nothing(tmp_path: Path) -> None:
    apart().write(tmp_path / "first")
    apart(table(seed=4)).write(tmp_path / "other")
    narrow = sf.read(rows(), sf.Schema(quasi=["age"], sensitive="ill"))
    apart(narrow).write(tmp_path / "narrow")


def test_the_same_content_says_nothing(tmp_path: Path) -> None:
    release = apart()
    release.write(tmp_path / "first")
    release.write(tmp_path / "text", format="csv")
    with warned("first.*text"):
        boxes().write(tmp_path / "boxes")


def test_the_same_seed_makes_the_same_release(tmp_path: Path) -> None:
    apart(seed=7).write(tmp_path / "first")
    apart(seed=7).write(tmp_path / "again")
    with warned("again.*first"):
        apart(seed=8).write(tmp_path / "other")


def test_a_release_that_is_gone_says_nothing(tmp_path: Path) -> None:
    path = apart().write(tmp_path / "first")
    for file in path.iterdir():
        file.unlink()
    path.rmdir()
    apart().write(tmp_path / "second")


def test_replacing_a_release_does_not_take_it_back(tmp_path: Path) -> None:
    apart().write(tmp_path / "out")
    with pytest.warns(SfumatoWarning, match="out held another release of the same rows"):
        apart().write(tmp_path / "out", force=True)
    release = apart(table(seed=4))
    release.write(tmp_path / "out", force=True)  # of other rows
    release.write(tmp_path / "out", force=True, format="csv")  # the same content


def test_a_damaged_release_still_counts(tmp_path: Path) -> None:
    path = apart().write(tmp_path / "first")
    (path / "release.json").write_text("{")
    with warned("first"):
        apart().write(tmp_path / "second")


def test_every_kind_of_release_is_remembered(tmp_path: Path) -> None:
    read = sf.read(
        rows().append_column("id", pa.array(range(200))),
        sf.Schema(identifiers=["id"], quasi=["age", "town"], sensitive="ill"),
        id="id",
    )
    voters = rows(5, 300).drop_columns(["ill"]).append_column("id", pa.array(range(100, 400)))
    made: dict[str, Release] = {
        "boxes": boxes(),
        "apart": apart(),
        "shuffled": sf.publish(table(), sf.Anatomize(), sf.LDiversity(2), form="permuted"),
        "noise": sf.perturb(table(), m=2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # people whose values differ
        made["joined"] = sf.publish_join(
            read, voters, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5)
        )
    first, *others = made
    made[first].write(tmp_path / first)
    for name in others:
        with warned(first):
            made[name].write(tmp_path / name)
    for name in made:
        sf.load(tmp_path / name).write(tmp_path / f"{name}_csv", format="csv")  # says nothing


def test_what_was_converted_is_remembered_as_well(tmp_path: Path) -> None:
    path = apart().write(tmp_path / "first")
    sf.load(path).write(tmp_path / "converted", format="csv")
    path.rename(tmp_path / "away")
    with warned("converted"):
        boxes().write(tmp_path / "second")


def test_a_file_that_is_streamed_has_the_fingerprint_of_the_table(tmp_path: Path) -> None:
    pq.write_table(rows(), tmp_path / "rows.parquet")

    def stream(to: str) -> None:
        sf.publish_file(
            tmp_path / "rows.parquet", SCHEMA, sf.Anatomize(), sf.LDiversity(2), tmp_path / to,
            engine="stream", force=True,
        )  # fmt: skip

    apart().write(tmp_path / "first")
    with warned("first"):
        stream("second")
    with warned("first"):
        stream("second")


def test_a_database_beside_a_release_is_told(tmp_path: Path) -> None:
    apart().write(tmp_path / "first")
    with warned("first"):
        sf.StatDB.create(tmp_path / "db", table(), m=2)
    with warned("db.*first"):
        boxes().write(tmp_path / "second")


def test_a_release_beside_a_database_is_told(tmp_path: Path) -> None:
    sf.StatDB.create(tmp_path / "db", table(), m=2)
    with warned("db") as caught:
        apart().write(tmp_path / "out")
    assert "convert" not in str(caught[0].message)


def test_nothing_of_it_is_in_the_release(tmp_path: Path, state: Path) -> None:
    apart().write(tmp_path / "a" / "out")
    assert all(RELEASE_FILES.fullmatch(path.name) for path in (tmp_path / "a" / "out").iterdir())
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["out"]
    (home,) = (state / "releases").iterdir()
    for path in (tmp_path / "a" / "out").iterdir():
        assert home.name.encode() not in path.read_bytes()
    sf.verify(tmp_path / "a" / "out").require()


def test_a_state_inside_of_the_release_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", str(tmp_path / "out"))
    path = boxes().write(tmp_path / "out" / "release")
    assert sorted(file.name for file in path.iterdir()) == ["generalized.parquet", "release.json"]


@pytest.mark.parametrize("how", ["file", "key"])
def test_a_state_that_cannot_be_used_never_stops_a_release(
    tmp_path: Path, state: Path, how: str
) -> None:
    if how == "file":
        state.write_text("in the way")
    else:
        state.mkdir()
        (state / "key").write_bytes(b"short")
    with pytest.warns(SfumatoWarning, match="releases cannot be remembered .*SFUMATO_STATE"):
        apart().write(tmp_path / "out")
    apart().write(tmp_path / "again")  # said once
    sf.publish_file(rows(), SCHEMA, sf.Anatomize(), sf.LDiversity(2), tmp_path / "file")
    sf.StatDB.create(tmp_path / "db", table(), m=2)
    sf.verify(tmp_path / "again").require()


def test_nothing_is_remembered_if_the_owner_says_so(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_STATE", "")
    apart().write(tmp_path / "first")
    apart().write(tmp_path / "second")
    assert not state.exists()


def test_a_forgotten_release_leaves_no_trace(tmp_path: Path, state: Path) -> None:
    release = apart()
    forget(release)
    release.write(tmp_path / "out")
    assert not state.exists()


@pytest.mark.slow
def test_the_table_goes_when_the_release_does() -> None:
    of = table()
    gone = weakref.ref(of)
    release = apart(of)
    del of
    gc.collect()
    assert gone() is not None
    del release
    gc.collect()
    assert gone() is None
