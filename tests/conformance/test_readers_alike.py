"""Who looks at a table or a release beyond memory sees what is seen in memory.

Every form of release and type of file, in any number of parts: counts are equal, and sums of
fractions up to their rounding.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.asking import parted
from sfumato.audits import column_counts, inspecting
from sfumato.audits.breach import Breach, View, everybody, individual_breach, row_breach, view
from sfumato.audits.breach.persons import Persons
from sfumato.audits.inspecting import inspect_table
from sfumato.engines import csv_rows, domains, parts, typed_rows
from sfumato.engines.parts import TableParts, open_parts
from sfumato.errors import DataError, OutOfMemory, QueryRefused, SfumatoError, SfumatoWarning
from sfumato.forms import files as release_files
from sfumato.forms import load
from sfumato.forms.generalized import counted
from tests.conformance.test_engines import CASES, UNWRITABLE, WRITERS
from tests.support.risks import without_sets
from tests.support.sealing import reseal
from tests.support.seeds import long_seed

ROWS = 900
ENOUGH = 10**7
SEED = long_seed(16)
SCHEMA = sf.Schema(
    quasi=["age", "town", "income", "job"], sensitive=["ill", "debt"], insensitive=["note"],
    orders={"job": ["cook", "nurse", "judge"]},
)  # fmt: skip


def people() -> pa.Table:
    chance = np.random.default_rng(5)
    ages = [None if chance.random() < 0.05 else int(age) for age in chance.integers(20, 60, ROWS)]
    ill = [None if chance.random() < 0.02 else ["flu", "cold", "gout"][i % 3] for i in range(ROWS)]
    return pa.table(
        {
            "age": pa.array(ages, pa.int8()),
            "town": chance.choice(["A", "B", "C", "D, E"], ROWS, p=[0.5, 0.3, 0.1, 0.1]),
            "income": np.round(chance.normal(30, 2, ROWS)),
            "job": chance.choice(["cook", "nurse", "judge"], ROWS),
            "ill": pa.array(ill),
            "debt": chance.integers(0, 40, ROWS),
            "note": chance.choice(["x", "y"], ROWS),
        }
    )


PEOPLE = sf.Microdata.from_arrow(people(), SCHEMA)
Publish = Callable[[], Any]
RELEASES: dict[str, Publish] = {
    "ranges": lambda: sf.publish(PEOPLE, sf.Mondrian(), sf.KAnonymity(5), seed=SEED),
    "relaxed": lambda: sf.publish(PEOPLE, sf.Mondrian(relaxed=True), sf.KAnonymity(5), seed=SEED),
    "sets": lambda: sf.publish(
        PEOPLE, sf.Mondrian(), sf.KAnonymity(9), labels="sets", seed=SEED
    ),
    "left out": lambda: sf.publish(
        PEOPLE, sf.FullDomain(suppress=0.3), sf.KAnonymity(3), seed=SEED
    ),
    "anatomized": lambda: sf.publish(
        PEOPLE, sf.Anatomize(), sf.LDiversity(2, on="ill") & sf.LDiversity(3, on="debt"), seed=SEED
    ),
    "permuted": lambda: sf.publish(
        PEOPLE, sf.Mondrian(), sf.DistinctLDiversity(2), form="permuted", seed=SEED
    ),
}  # fmt: skip


@pytest.fixture(params=[61, 400])
def in_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Nothing fits into memory; parts have so many rows, and pieces of releases few."""
    rows: int = request.param
    monkeypatch.setattr(domains, "PART_ROWS", rows)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", rows)
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 20 * rows)
    monkeypatch.setattr(parts, "needs_streaming", lambda *_: True)
    monkeypatch.setattr(release_files, "PIECE", 50)
    monkeypatch.setattr(release_files, "_BLOCK_BYTES", 2**11)
    return rows


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return RELEASES[request.param]()


def figures(found: Breach) -> dict[str, Any]:
    stated = found.to_dict()
    return {**stated, "mean": pytest.approx(stated["mean"], rel=1e-12)}


@pytest.mark.parametrize(("format", "memory"), [("parquet", 100_000), ("csv", ENOUGH)])
def test_everybody_is_at_the_same_risk(
    release: Any, format: Any, memory: int, in_parts: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With little memory exact vectors meet in several buckets."""
    monkeypatch.setattr(load, "require_loadable", lambda *_: None)
    monkeypatch.setattr(view, "require_loadable", lambda *_: None)
    monkeypatch.setattr(counted, "_ENTRY_BYTES", 1)
    folder = release.write(tmp_path / "out", format=format)
    voters = people().select(SCHEMA.quasi).slice(0, 400)
    source = WRITERS[format](people(), tmp_path / "people")
    for sensitive, listed in (("ill", None), ("debt", voters)):
        seen = View.read(folder, sensitive, memory)
        with open_parts(source, SCHEMA, memory) as truth:
            assert truth.engine is not None
            rows, persons = everybody(seen, truth, listed, memory)
        there = individual_breach(release, PEOPLE, sensitive=sensitive, external=listed)
        assert rows.to_dict() == figures(row_breach(release, sensitive=sensitive))
        assert persons.to_dict() == figures(there)
        assert persons.times is not None
        assert np.repeat(persons.probabilities, persons.times).tolist() == pytest.approx(
            sorted(there.probabilities), rel=1e-12
        )


def test_a_person_is_believed_the_same(release: Any, in_parts: int, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "out", format="csv")
    for person in ({"age": 31, "town": "A"}, {"job": "judge"}, {"age": None}):
        there = sf.belief(release, person, sensitive="ill")
        seen = View.read(folder, "ill", ENOUGH)
        assert seen.belief(Persons.known(seen.release, person), None) == there


@pytest.mark.parametrize("kind", WRITERS)
def test_the_truth_may_be_in_any_file(kind: str, in_parts: int, tmp_path: Path) -> None:
    seen = View.of(RELEASES["ranges"](), "ill")
    source = WRITERS[kind](people(), tmp_path / "people")
    with open_parts(source, SCHEMA, ENOUGH) as truth:
        assert len(list(truth.parts())) > 1
        _, persons = everybody(seen, truth, None, ENOUGH)
    _, there = everybody(seen, TableParts.of(PEOPLE), None, ENOUGH)
    assert persons.to_dict() == figures(there)


def test_another_table_is_refused_in_parts_as_well(in_parts: int, tmp_path: Path) -> None:
    seen = View.of(RELEASES["ranges"](), "ill")
    table = people()
    older = table.set_column(0, "age", pa.array([99] * ROWS, pa.int8()))
    other = table.set_column(4, "ill", pa.array(["plague"] * ROWS))
    for strange, why in (
        (table.slice(1), "made of 900 rows and the table has 899"),
        (other, "with other counts than the table has them"),
        (older, "900 rows of the true table fit no published row"),
    ):
        source = WRITERS["parquet"](strange, tmp_path / "people")
        with open_parts(source, SCHEMA, ENOUGH) as truth, pytest.raises(DataError, match=why):
            everybody(seen, truth, None, ENOUGH)


def test_too_little_memory_is_said(in_parts: int, tmp_path: Path) -> None:
    folder = RELEASES["ranges"]().write(tmp_path / "out")
    with pytest.raises(OutOfMemory, match=r"too few for the groups of this .* allow [0-9,]+ bytes"):
        View.read(folder, "ill", 1000)
    exact = RELEASES["anatomized"]().write(tmp_path / "exact")
    with pytest.raises(OutOfMemory, match=r"too few for the rows of this .* allow [0-9,]+ bytes"):
        View.read(exact, "ill", 1000)
    seen = View.read(exact, "ill", ENOUGH)
    source = WRITERS["parquet"](people(), tmp_path / "people")
    with (
        open_parts(source, SCHEMA, ENOUGH) as truth,
        pytest.raises(OutOfMemory, match=r"a probability of their own; allow [0-9,]+ bytes"),
    ):
        everybody(seen, truth, None, 5000)


WORKLOAD = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE age < 40 AND note = 'x'",
    "SELECT ill, COUNT(*), AVG(debt), MIN(debt), MAX(debt) FROM t WHERE job <> 'cook' GROUP BY ill",
    "SELECT note, job, SUM(debt), COUNT(age) FROM t GROUP BY note, job",
    "SELECT AVG(income) FROM t WHERE debt > 1000",
    "SELECT town, SUM(age) FROM t WHERE ill IS NULL GROUP BY town",
)


@pytest.mark.parametrize("workload", [None, WORKLOAD])
def test_a_release_is_as_good(release: Any, workload: Any, in_parts: int, tmp_path: Path) -> None:
    """Figures, advice and all: what is computed of the truth is exact."""
    folder = release.write(tmp_path / "out")
    asked = _answered(release, workload)
    source = WRITERS["parquet"](people(), tmp_path / "people")
    there = sf.evaluate(folder, PEOPLE, asked, queries=40, seed=3)
    with open_parts(source, SCHEMA, ENOUGH) as truth:
        assert truth.engine is not None
        here = sf.evaluate(folder, truth, asked, queries=40, seed=3)
        assert without_sets(here.to_dict()) == without_sets(there.to_dict())


def _answered(release: Any, workload: Any) -> Any:
    """Without what cannot be asked where rows were left out."""
    if workload is None or not release.manifest.suppressed:
        return workload
    return [text for text in workload if not re.search(r"SUM|AVG|MIN|MAX", text)]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("text", WORKLOAD)
def test_a_table_answers_the_same(kind: str, text: str, in_parts: int, tmp_path: Path) -> None:
    source = WRITERS[kind](people(), tmp_path / "people")
    with open_parts(source, SCHEMA, ENOUGH) as truth:
        assert truth.engine is not None
        assert truth.query(text).table.equals(PEOPLE.query(text).table)


def test_bad_questions_are_refused_alike(in_parts: int, tmp_path: Path) -> None:
    source = WRITERS["parquet"](people(), tmp_path / "people")
    with open_parts(source, SCHEMA, ENOUGH) as truth:
        assert truth.count("AGE < 30 AND note = 'x'") == PEOPLE.count("age < 30 AND note = 'x'")
        for text in ("SELECT COUNT(*) FROM t WHERE agee < 3", "SELECT SUM(town) FROM t"):
            with pytest.raises(QueryRefused) as here:
                truth.query(text)
            with pytest.raises(QueryRefused) as there:
                PEOPLE.query(text)
            assert str(here.value) == str(there.value)
            assert here.value.position == there.value.position


def test_a_question_about_too_many_combinations(
    in_parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parted, "_MOST_WAITING", 0)
    source = WRITERS["parquet"](people(), tmp_path / "people")
    with open_parts(source, SCHEMA, 30_000) as truth:
        assert truth.count("ill = 'flu'").lo == PEOPLE.count("ill = 'flu'").lo
        with pytest.raises(OutOfMemory, match=r"ask about fewer columns, or allow [0-9,]+ bytes"):
            truth.query("SELECT SUM(debt) FROM t WHERE age > 3 AND income > 3")


def test_a_release_too_large_to_be_asked_is_refused(tmp_path: Path) -> None:
    folder = RELEASES["ranges"]().write(tmp_path / "out")
    with pytest.raises(OutOfMemory, match=r"too few for the rows of this .* allow [0-9,]+ bytes"):
        sf.evaluate(folder, PEOPLE, memory_limit=1000)


def looked_at(source: Path, schema: sf.Schema | None = None, memory: int = ENOUGH) -> Any:
    try:
        found = inspect_table(source, schema, missing=("x", "0"), memory_limit=memory)
        risk = None if found.risk is None else without_sets(found.risk.to_dict())
        return {"rest": replace(found, risk=None), "risk": risk}
    except SfumatoError as error:
        return f"{type(error).__name__}: {error}"


def nothing_fits(monkeypatch: pytest.MonkeyPatch, rows: int) -> list[str]:
    """The columns whose values are too many to be kept, as they are found."""
    monkeypatch.setattr(domains, "PART_ROWS", rows)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", rows)
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 1024)
    for place in (parts, inspecting):
        monkeypatch.setattr(place, "needs_streaming", lambda *_: True)
    spilled: list[str] = []
    count = column_counts._spilled

    def watched(columns: Any, name: str, *rest: Any) -> int:
        spilled.append(name)
        return count(columns, name, *rest)

    monkeypatch.setattr(column_counts, "_spilled", watched)
    return spilled


def known_people() -> pa.Table:
    """With columns that name people: all different, and many of them."""
    ids = pa.array([f"p{i * 7 % ROWS}" if i % 11 else None for i in range(ROWS)])
    return people().append_column("patient id", ids).append_column("visit", pa.array(range(ROWS)))


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("memory", [40_000, ENOUGH])
def test_a_table_looks_the_same(
    kind: str, memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little memory values, and rows that are alike, meet in several buckets."""
    source = WRITERS[kind](known_people(), tmp_path / "people")
    before = [looked_at(source, schema) for schema in (None, SCHEMA)]
    assert before[0]["risk"]["unique_rows"] > before[1]["risk"]["unique_rows"] > 0
    spilled = nothing_fits(monkeypatch, 250)
    assert [looked_at(source, schema, memory) for schema in (None, SCHEMA)] == before
    assert ("visit" in spilled) == (memory < ENOUGH)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", CASES)
def test_values_of_any_type_look_the_same(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = CASES[name]
    if any(word in str(values.type) for word in (*UNWRITABLE.get(kind, ()), "binary")):
        pytest.skip("cannot be written")
    numbers = pa.array(range(len(values)))
    source = WRITERS[kind](pa.table({"v": values, "n": numbers}), tmp_path / "table")
    before = looked_at(source)
    spilled = nothing_fits(monkeypatch, 17)
    for memory in (6000, ENOUGH):
        assert looked_at(source, memory=memory) == before
    assert "n" in spilled or isinstance(before, str)


Damage = Callable[[pa.Table], pa.Table]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "apart": (lambda t: pa.concat_tables([t.slice(1), t.slice(0, 1)]), "do not stand together"),
    "gone": (lambda t: t.slice(1), "900 rows are stated, 899 published"),
    "ill": (lambda t: t.drop_columns(["ill"]), "'ill' is declared but not published"),
    "town": (lambda t: t.drop_columns(["town"]), "'town' is declared but not published"),
}


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    """Rows of a group that stand apart, rows that are gone, and columns that are."""
    release = RELEASES["ranges"]()
    for name, (damage, why) in DAMAGES.items():
        folder = release.write(tmp_path / name)
        path = folder / "generalized.parquet"
        pq.write_table(damage(pq.read_table(path)), path)
        reseal(folder)
        with pytest.raises(DataError, match=why):
            View.read(folder, "ill", ENOUGH)
        with pytest.raises(DataError, match=why):
            View.of(sf.load(folder), "ill")
