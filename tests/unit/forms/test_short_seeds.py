"""What is written with a short seed: nothing, unless as an experiment; then it says so for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.seeds import SHORT, Seed
from sfumato.errors import ParameterError, ReleaseError
from tests.support.seeds import long_seed

SCHEMA = sf.Schema(identifiers=["name"], quasi=["age", "town"], sensitive="disease")
STATED = f'"seed": "{SHORT}"'


def rows(n: int = 300) -> pa.Table:
    generator = np.random.default_rng(6)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(n)],
            "age": generator.integers(0, 90, n),
            "town": generator.choice(["a", "b", "c"], n),
            "disease": generator.choice([f"d{i}" for i in range(9)], n),
        }
    )


def table() -> sf.Microdata:
    return sf.Microdata.from_arrow(rows().slice(0, 200), SCHEMA, id="name")


def join(seed: Seed | None) -> sf.JoinRelease:
    people = rows().drop_columns(["disease"])
    model = sf.KJoinAnonymity(4)
    return sf.publish_join(table(), people, sf.Refinement(sf.Mondrian()), model, seed=seed)


def grouped(form: str, seed: Seed | None) -> Any:
    publish: Any = sf.publish
    return publish(table(), sf.Anatomize(), sf.LDiversity(3), form=form, seed=seed)


MADE: dict[str, Callable[[Seed | None], Any]] = {
    "generalized": lambda seed: grouped("generalized", seed),
    "anatomized": lambda seed: grouped("anatomized", seed),
    "permuted": lambda seed: grouped("permuted", seed),
    "perturbed": lambda seed: sf.perturb(table(), m=3, seed=seed),
    "joined": join,
}


def require_refused(write: Callable[[], object], path: Path) -> None:
    with pytest.raises(ParameterError, match="seed is short") as caught:
        write()
    assert caught.value.parameter == "seed"
    assert not path.exists()
    assert not list(path.parent.glob(f".*{path.name}*"))


@pytest.mark.parametrize("kind", MADE)
def test_a_short_seed_is_written_as_an_experiment_and_never_forgotten(
    tmp_path: Path, kind: str
) -> None:
    made, out, copy = MADE[kind](7), tmp_path / "out", tmp_path / "copy"
    require_refused(lambda: made.write(out), out)
    made.write(out, experiment=True)
    assert STATED in (out / "release.json").read_text()
    loaded: Any = sf.load(out)
    assert loaded.manifest.seed == SHORT
    require_refused(lambda: loaded.write(copy, format="csv"), copy)
    loaded.write(copy, format="csv", experiment=True)
    assert STATED in (copy / "release.json").read_text()


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("seed", [None, long_seed(2)])
def test_of_other_seeds_nothing_is_said(tmp_path: Path, kind: str, seed: Seed | None) -> None:
    out = MADE[kind](seed).write(tmp_path / "out", experiment=True)
    assert "seed" not in json.loads((out / "release.json").read_text())


@pytest.mark.parametrize("kind", MADE)
def test_a_long_seed_repeats_the_files(tmp_path: Path, kind: str) -> None:
    a, b, c = (
        MADE[kind](long_seed(seed)).write(tmp_path / name)
        for name, seed in (("a", 2), ("b", 2), ("c", 3))
    )
    names = sorted(one.name for one in a.iterdir())
    contents = [[(place / name).read_bytes() for name in names] for place in (a, b, c)]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_a_permuted_experiment_stays_one_as_two_tables(tmp_path: Path) -> None:
    apart = MADE["permuted"](7).as_anatomized()
    require_refused(lambda: apart.write(tmp_path / "out"), tmp_path / "out")


def test_what_stands_in_the_folder_stays(tmp_path: Path) -> None:
    out = MADE["permuted"](None).write(tmp_path / "out")
    before = (out / "release.json").read_bytes()
    with pytest.raises(ParameterError, match="seed is short"):
        MADE["permuted"](7).write(out, force=True)
    assert (out / "release.json").read_bytes() == before


@pytest.mark.parametrize("said", ["short", "", 7, False, [SHORT]])
def test_nothing_else_may_be_said_of_a_seed(tmp_path: Path, said: object) -> None:
    out = MADE["permuted"](None).write(tmp_path / "out")
    stated = json.loads((out / "release.json").read_text())
    (out / "release.json").write_text(json.dumps(stated | {"seed": said}))
    with pytest.raises(ReleaseError, match="seed is "):
        sf.load(out)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_files_are_published_by_the_same_rule(tmp_path: Path, engine: Any) -> None:
    source, out = tmp_path / "in.parquet", tmp_path / "out"
    pq.write_table(rows(), source)

    def publish(path: Path, seed: Seed, *, experiment: bool = False) -> Any:
        return sf.publish_file(
            source, SCHEMA, sf.Anatomize(), sf.LDiversity(3), path,
            engine=engine, seed=seed, experiment=experiment,
        )  # fmt: skip

    require_refused(lambda: publish(out, 7), out)
    assert publish(out, 7, experiment=True).seed == SHORT
    assert STATED in (out / "release.json").read_text()
    assert publish(tmp_path / "long", long_seed(7)).seed is None


def test_a_short_seed_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="seed is short"):
        sf.publish_file(
            tmp_path / "missing.csv", SCHEMA, sf.Mondrian(), sf.KAnonymity(2), tmp_path / "out",
            seed=7,
        )  # fmt: skip


def test_a_streamed_file_that_changes_is_dealt_otherwise(tmp_path: Path) -> None:
    """Bound to the file: with one seed, next month's rows do not stand where this month's did."""
    positions = []
    for name, shift in (("a", 0), ("b", 0), ("c", 1)):
        source = tmp_path / f"{name}.parquet"
        changed = rows().set_column(1, "age", pa.array(np.arange(300) + 1000 * shift))
        pq.write_table(changed, source)
        out = tmp_path / f"out-{name}"
        sf.publish_file(
            source, SCHEMA, sf.Anatomize(), sf.LDiversity(3), out,
            engine="stream", seed=long_seed(1),
        )  # fmt: skip
        positions.append(pq.read_table(out / "qit.parquet")["age"].to_numpy() - 1000 * shift)
    assert np.array_equal(positions[0], positions[1])
    assert np.mean(positions[0] == positions[2]) < 0.1


def test_a_short_seed_of_a_database_is_stated_for_ever(tmp_path: Path) -> None:
    path, people = tmp_path / "db", sf.Microdata.from_arrow(rows(), SCHEMA)
    require_refused(lambda: sf.StatDB.create(path, people, m=3, seed=7), path)
    db = sf.StatDB.create(path, people, m=3, seed=7, experiment=True)
    assert db.seed == db.info()["seed"] == SHORT
    db.apply(deleted=people.take(np.arange(5)))
    assert sf.StatDB.open(path).seed == SHORT


def test_a_short_seed_of_a_change_is_stated_from_then_on(tmp_path: Path) -> None:
    people = sf.Microdata.from_arrow(rows(), SCHEMA)
    db = sf.StatDB.create(tmp_path / "db", people, m=3, seed=long_seed(7))
    assert "seed" not in db.info()
    gone = people.take(np.arange(5))
    with pytest.raises(ParameterError, match="seed is short"):
        db.apply(deleted=gone, seed=7)
    db.apply(deleted=gone, seed=long_seed(8))
    assert sf.StatDB.open(db.path).seed is None
    db.apply(deleted=people.take(np.arange(5, 9)), seed=7, experiment=True)
    assert sf.StatDB.open(db.path).seed == SHORT
    assert sf.StatDB.open(db.path).generation == 3
