"""A list that is read part by part makes the join release that it makes in memory, byte for byte.

For every type that a file may hold, with missing values and other spellings, for both methods over
every algorithm that can do with people who are alike as one; refusals and warnings are the same.
"""

from __future__ import annotations

import re
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.join.methods import merges
from sfumato.engines import csv_rows, domains, typed_rows
from sfumato.errors import DataError, OutOfMemory, ParameterError, SfumatoError, SfumatoWarning
from sfumato.io.tables import read_table
from sfumato.verbs import listing
from tests.conformance.test_engines import CASES, UNWRITABLE, WRITERS, case
from tests.support.seeds import long_seed

SEED = long_seed(16)
LITTLE = 20_000  # bytes: several buckets of ids, and too few for most lists
ALGORITHMS: tuple[Partitioner, ...] = (sf.Mondrian(), sf.TopDown())
METHODS = [
    *(sf.Direct(one, trim=trim) for one, trim in product(ALGORITHMS, (True, False))),
    *(sf.Refinement(one, trim=trim) for one, trim in product(ALGORITHMS, (True, False))),
]
REFINED = sf.Refinement(sf.Mondrian())
VOTERS, PATIENTS = 900, 80
QUASI = ["age", "town", "pay", "born"]
SCHEMA = sf.Schema(identifiers=["id"], quasi=QUASI, sensitive="ill", orders={"town": list("CBA")})


def listed() -> pa.Table:
    """Voters, some of whom lack a value; all numbers of theirs are fractions."""
    chance = np.random.default_rng(8)
    ages = chance.integers(20, 40, VOTERS).astype(float)
    days = chance.integers(0, 9, VOTERS).astype("datetime64[D]")
    return pa.table(
        {
            "party": chance.choice(["red", "blue"], VOTERS),
            "id": [f"v{i}" for i in chance.permutation(VOTERS)],
            "age": pa.array(ages, mask=chance.random(VOTERS) < 0.05),
            "town": pa.array(chance.choice(list("ABC"), VOTERS), mask=chance.random(VOTERS) < 0.05),
            "pay": chance.choice([0.5, 1.5, 2.25], VOTERS),
            "born": days,
        }
    )


def patients(voters: pa.Table) -> sf.Microdata:
    """Some of the voters, a few of them older here, and some people who are no voters."""
    rows = pc.drop_null(voters).slice(3, PATIENTS)
    ids = [f"x{i}" if i % 9 == 0 else one for i, one in enumerate(rows["id"].to_pylist())]
    ages = [int(age) + (i % 11 == 0) for i, age in enumerate(rows["age"].to_pylist())]
    ill = [["flu", "cold", "gout"][i % 3] for i in range(PATIENTS)]
    table = {"id": ids, "age": ages, "ill": ill, **{name: rows[name] for name in QUASI[1:]}}
    return sf.read(pa.table(table), SCHEMA, id="id")


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of some rows, so that the passes are real ones."""
    warnings.simplefilter("ignore", SfumatoWarning)
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", 50)
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 2048)


def told(table: sf.Microdata, people: Path, out: Path, method: Any = REFINED, **more: Any) -> Any:
    """The files of a release, the owner's figures, the risk and all warnings; or a refusal."""
    how = {"engine": more.pop("engine"), "memory_limit": more.pop("memory_limit", None)}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", SfumatoWarning)
        try:
            release = sf.publish_join(
                table, people, method, sf.KJoinAnonymity(4), seed=SEED, **how, **more
            )
            reading = {name: more[name] for name in ("columns", "missing") if name in more}
            risk = sf.join_risk(release, table, people, **how, **reading)
        except SfumatoError as error:
            return f"{type(error).__name__}: {error}"
    assert risk.exposed is not None
    assert np.array_equal(risk.exposed, sf.edge_attack(release, people, **how, **reading))
    release.write(out)
    sf.verify(out).require()
    files = {file.name: file.read_bytes() for file in out.iterdir()}
    said = [str(one.message) for one in heard]
    return files, repr(release.own), risk.to_dict(), risk.exposed.tolist(), said


def streamed(table: sf.Microdata, people: Path, out: Path, **more: Any) -> Any:
    """The same beyond memory, with the least memory that is said to be enough."""
    memory = LITTLE
    for _ in range(3):  # for the join, for the attack, enough
        found = told(table, people, out, engine="stream", memory_limit=memory, **more)
        if not isinstance(found, str) or not found.startswith(OutOfMemory.__name__):
            return found
        enough = re.search(r"different combinations .* allow ([\d,]+) bytes", found)
        assert enough is not None, found
        memory = int(enough[1].replace(",", ""))
    return found


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_method_makes_the_same_release(method: Any, tmp_path: Path) -> None:
    source, table = WRITERS["parquet"](listed(), tmp_path / "list"), patients(listed())
    memory = told(table, source, tmp_path / "memory", method, engine="memory")
    assert not isinstance(memory, str), memory
    assert memory == streamed(table, source, tmp_path / "stream", method=method)


@pytest.mark.parametrize(("written", "rows"), [*product(WRITERS, [17, 10_000])])
def test_every_file_makes_the_same_release(
    written: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, table = WRITERS[written](listed(), tmp_path / "list"), patients(listed())
    memory = told(table, source, tmp_path / "memory", engine="memory")
    assert not isinstance(memory, str), memory
    monkeypatch.setattr(domains, "PART_ROWS", rows)
    assert memory == streamed(table, source, tmp_path / "stream")


@pytest.mark.parametrize("written", WRITERS)
def test_every_type_is_joined_alike(written: str, tmp_path: Path) -> None:
    different, kept = [], 0
    for number, name in enumerate(CASES):
        if name in UNWRITABLE.get(written, ()):
            continue
        table, _ = case(name, "quasi")
        source = WRITERS[written](table, tmp_path / f"in-{number}")
        schema = sf.Schema(identifiers=["person"], quasi=["age", "it"], sensitive="ill")
        try:
            own = read_table(source, trim=True)
            own = own.filter(own["it"].is_valid()).slice(2, 20)
            microdata = sf.read(own, schema, id="person")
        except SfumatoError:
            continue
        memory = told(microdata, source, tmp_path / f"memory-{number}", engine="memory")
        stream = streamed(microdata, source, tmp_path / f"stream-{number}")
        kept += not isinstance(memory, str)
        if memory != stream:
            different.append((name, memory, stream))
    assert not different, different
    assert kept > 20


CHANGED: dict[str, Any] = {
    "an id twice": lambda t: pa.concat_tables([t, t.slice(5, 2)]),
    "no id": lambda t: t.set_column(1, "id", pa.array([None, None, *t["id"].to_pylist()[2:]])),
    "other ids": lambda t: t.set_column(1, "id", pa.array(range(VOTERS))),
    "no rows": lambda t: t.slice(0, 0),
    "nobody": lambda t: t.set_column(1, "id", pa.array([f"n{i}" for i in range(VOTERS)])),
    "a stranger": lambda t: t.set_column(3, "town", pa.array(["Z"] * VOTERS)),
    "other values": lambda t: t.set_column(2, "age", pa.array(["old"] * VOTERS)),
    "no column": lambda t: t.drop_columns("pay"),
    "no value": lambda t: t.set_column(4, "pay", pa.nulls(VOTERS, pa.float64())),
}


@pytest.mark.parametrize("change", CHANGED)
def test_what_is_wrong_with_a_list_is_said_alike(change: str, tmp_path: Path) -> None:
    source = WRITERS["parquet"](CHANGED[change](listed()), tmp_path / "list")
    table = patients(listed())
    memory = told(table, source, tmp_path / "memory", engine="memory")
    assert memory == streamed(table, source, tmp_path / "stream")


def test_markers_and_names_are_those_of_the_list(tmp_path: Path) -> None:
    renamed = listed().rename_columns(["party", "voter", "years", "town", "pay", "born"])
    source = WRITERS["csv"](renamed, tmp_path / "list")
    more: dict[str, Any] = {
        "columns": {"id": "voter", "age": "years"}, "missing": ["A", "1.5"], "source": "voters",
    }  # fmt: skip
    table = patients(listed())
    memory = told(table, source, tmp_path / "memory", engine="memory", **more)
    assert memory == streamed(table, source, tmp_path / "stream", **more)
    assert not isinstance(memory, str)


def test_too_many_combinations_are_refused_with_the_memory_they_need(tmp_path: Path) -> None:
    source = WRITERS["parquet"](listed(), tmp_path / "list")
    with pytest.raises(OutOfMemory, match=r"different combinations of values, .* allow [\d,]+ byt"):
        sf.publish_join(
            patients(listed()), source, REFINED, sf.KJoinAnonymity(4),
            engine="stream", memory_limit=LITTLE,
        )  # fmt: skip


def test_only_files_are_streamed_and_only_for_those_who_merge(tmp_path: Path) -> None:
    table, k = patients(listed()), sf.KJoinAnonymity(4)
    source = WRITERS["parquet"](listed(), tmp_path / "list")
    relaxed = sf.Refinement(sf.Mondrian(relaxed=True))
    with pytest.raises(ParameterError, match="never tell equal people apart"):
        sf.publish_join(table, source, relaxed, k, engine="stream")
    with pytest.raises(ParameterError, match="a list in a file"):
        sf.publish_join(table, listed(), REFINED, k, engine="stream")
    with pytest.raises(ParameterError, match="one of auto, memory, stream"):
        sf.publish_join(table, source, REFINED, k, engine="far")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="does not exist"):
        sf.publish_join(table, tmp_path / "other.csv", REFINED, k, engine="stream")
    assert sf.publish_join(table, source, relaxed, k).joined.num_rows >= PATIENTS


def test_a_list_that_seems_too_large_is_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WRITERS["parquet"](listed(), tmp_path / "list")
    asked: list[Any] = []

    def too_large(*given: Any) -> bool:
        asked.append(given)
        return True

    monkeypatch.setattr(listing, "needs_streaming", too_large)
    release = sf.publish_join(patients(listed()), source, REFINED, sf.KJoinAnonymity(4))
    (stored, schema), *_ = asked
    assert (stored, schema.quasi) == (source, ("id", *QUASI))
    assert release.own is not None
    assert release.own.matching.external == VOTERS


def test_which_algorithms_merge() -> None:
    assert merges(sf.Mondrian())
    assert merges(sf.TopDown())
    assert not merges(sf.Mondrian(relaxed=True))
    assert not merges(sf.BranchMondrian())
