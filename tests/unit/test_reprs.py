"""What Python shows of an object when it is named at the prompt, in a log or in a traceback.

One line, whatever the size of the table, and nothing of a person: every class that a user can
meet is made here from a table of marked values, and none of the marks may be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.client import _Line
from sfumato.core.predicates import Predicate
from sfumato.core.randomness import Randomness
from tests.support.models import needs_of

MARK = "zebra"  # in every value of the table
ROWS = 600
LONGEST = 400
QUESTIONS = (Predicate, sf.Query, sf.Aggregate)  # what somebody asks names values
RANDOM = np.random.default_rng(1)


def marked(name: str, different: int) -> list[str]:
    return [f"{MARK} {name} {number:03}" for number in RANDOM.integers(0, different, ROWS)]


PEOPLE = pa.table(
    {
        "id": [f"{MARK} {number}" for number in range(ROWS)],
        "age": RANDOM.integers(0, 90, ROWS),
        "job": marked("job", 150),
        "town": marked("town", 150),
        "disease": marked("disease", 120),
    }
)
JOBS = sorted(set(PEOPLE["job"].to_pylist()))
TAXONOMY = sf.Taxonomy.from_nested({"any": {"these": JOBS[:70], "those": JOBS[70:]}})
SCHEMA = sf.Schema(
    identifiers=["id"],
    quasi=["age", "job", "town"],
    sensitive="disease",
    orders={"town": sorted(set(PEOPLE["town"].to_pylist()))},
    taxonomies={"job": TAXONOMY},
)
TABLE = sf.Microdata.from_arrow(PEOPLE, SCHEMA, id="id")
ASKED = sf.anatomy_workload(
    TABLE, queries=40, dimensionality=3, selectivity=0.05, sensitive="disease", seed=1
)
PERSON = {name: PEOPLE[name][0].as_py() for name in SCHEMA.quasi}


def generalized() -> sf.GeneralizedTable:
    model = sf.KAnonymity(5) & sf.DistinctLDiversity(3)
    return sf.publish(TABLE, sf.Mondrian(), model, labels="sets", seed=1)


def anatomized() -> Any:
    return sf.publish(TABLE, sf.Anatomize(), sf.LDiversity(4), seed=1)


def grid() -> sf.Partition:
    algorithm = sf.SingleDimensional(time_limit=None, node_limit=1)
    return algorithm.partition(TABLE, needs_of(sf.KAnonymity(5), TABLE), Randomness(0))


def joined() -> sf.JoinRelease:
    list_of_people = PEOPLE.drop(["disease"])
    method = sf.Refinement(sf.Mondrian())
    return sf.publish_join(TABLE, list_of_people, method, sf.KJoinAnonymity(5), seed=1)


# What a user can hold: one of every public class, and what the public verbs give.
HELD: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "chance": lambda _: sf.Randomness(int.from_bytes(MARK.encode(), "big")),
    "partition": lambda _: sf.Partition.of(np.arange(ROWS, dtype=np.int32) // 2),
    "grid": lambda _: grid(),
    "solution": lambda _: sf.SingleDimensional(None, 1).solve(
        TABLE, needs_of(sf.KAnonymity(5), TABLE)
    ),
    "histograms": lambda _: sf.Histograms.of_groups(
        TABLE.attributes["disease"],
        TABLE.codes["disease"],
        np.arange(ROWS, dtype=np.int32) // 2,
        ROWS // 2,
    ),
    "generalized": lambda _: generalized(),
    "anatomized": lambda _: anatomized(),
    "sharpened": lambda _: sf.sharpen(anatomized()),
    "permuted": lambda _: sf.publish(
        TABLE, sf.Anatomize(), sf.LDiversity(4), form="permuted", seed=1
    ),
    "perturbed": lambda _: sf.perturb(TABLE, p=0.5, seed=1),
    "masked": lambda _: sf.mask(TABLE, sf.Microaggregate(k=5), seed=1),
    "masking risk": lambda _: sf.masking_risk(sf.mask(TABLE, sf.Microaggregate(k=5)), TABLE),
    "masks": lambda _: (sf.Microaggregate(k=5), sf.Noise(), sf.Swap(), sf.Synthesize()),
    "several": lambda _: sf.SeveralQIDs(sf.Mondrian(), [["age"], ["job", "town"]]),
    "join": lambda _: sf.join(TABLE, PEOPLE.drop(["disease"])),
    "join release": lambda _: joined(),
    "join risk": lambda _: sf.join_risk(joined(), TABLE),
    "verification": lambda place: sf.verify(
        generalized().write(place / "release", experiment=True)
    ),
    "audit": lambda _: sf.audit(generalized(), TABLE, attacks=["reader"], seed=1),
    "evaluation": lambda _: sf.evaluate(generalized(), TABLE, queries=40, seed=1),
    "comparison": lambda _: sf.compare(generalized(), TABLE, ASKED),
    "accuracy": lambda _: sf.accuracy(np.arange(1.0, 900), np.arange(1.0, 900)),
    "matching": lambda _: sf.matching(generalized(), ASKED),
    "row breach": lambda _: sf.row_breach(anatomized()),
    "individual breach": lambda _: sf.individual_breach(anatomized(), TABLE),
    "belief": lambda _: sf.belief(anatomized(), PERSON),
    "gains": lambda _: sf.gains(anatomized(), TABLE),
    "result": lambda _: generalized().query("SELECT disease, COUNT(*) FROM t GROUP BY disease"),
    "answer": lambda _: generalized().count("age <= 30"),
    "likely": lambda _: sf.perturb(TABLE, p=0.5, seed=1).count(
        f"disease = '{PEOPLE['disease'][0]}'"
    ),
    "mondrian": lambda _: sf.Mondrian(workload=ASKED),
    "classifier": lambda _: sf.train(generalized(), target="disease"),
    "exploration": lambda _: sf.explore(TABLE, methods=["mondrian"], k=[5], l=[2], seed=1),
    "risk": lambda _: sf.assess(TABLE),
    "profile": lambda _: sf.profile(PEOPLE),
    "database": lambda place: sf.StatDB.create(place / "people.statdb", TABLE, m=3),
    "queries": lambda _: ASKED,
    "condition": lambda _: sf.between(1, 2) & ~sf.one_of(range(5000)) | sf.Missing(),
    "circle": lambda _: sf.Within(1.0, 2.0, 3.0),
    "methods": lambda _: (
        sf.Direct(sf.Mondrian()), sf.Refinement(sf.TopDown()), sf.BranchMondrian(),
        sf.FullDomain(), sf.LocalRecoding(), sf.Sibling(), sf.Subtree(), sf.Anatomize(),
        sf.Frontier(),
        sf.SingleDimensional(),
    ),
    "models": lambda _: (
        sf.KAnonymity(2), sf.LDiversity(2), sf.EntropyLDiversity(2),
        sf.RecursiveLDiversity(2.0, 2), sf.TCloseness(0.2), sf.KJoinAnonymity(2),
        sf.DistinctLDiversity(2),
    ),
}  # fmt: skip


def reached(thing: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """Everything of sfumato that can be got from a thing by public names, itself included."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, Mapping):
        for part in thing.values():
            yield from reached(part, seen)
    elif isinstance(thing, list | tuple | frozenset):
        for part in [*thing][:20]:
            yield from reached(part, seen)
    if type(thing).__module__.startswith("sfumato."):
        yield thing
        for name in public_fields(type(thing)):
            yield from reached(getattr(thing, name), seen)


def public_fields(kind: type[Any]) -> list[str]:
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else []
    return [name for name in names if not name.startswith("_")]


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
def test_a_repr_is_one_short_line_without_data(name: str, tmp_path: Path) -> None:
    found = list(reached(HELD[name](tmp_path), {}))
    assert found
    for thing in found:
        shown = repr(thing)
        assert len(shown) <= LONGEST, f"{type(thing).__name__}: {shown[:LONGEST]}"
        assert "\n" not in shown, f"{type(thing).__name__}: {shown[:LONGEST]}"
        if not isinstance(thing, QUESTIONS):
            assert MARK not in shown, f"{type(thing).__name__}: {shown[:LONGEST]}"


@pytest.mark.slow
def test_every_public_class_is_looked_at(tmp_path: Path) -> None:
    classes = {getattr(sf, name) for name in sf.__all__ if isinstance(getattr(sf, name), type)}
    looked_at: set[type[Any]] = set()
    for place, make in enumerate(HELD.values()):
        folder = tmp_path / str(place)
        folder.mkdir()
        looked_at |= {type(thing) for thing in reached(make(folder), {})}
    assert {kind.__name__ for kind in classes - looked_at} == set()


def test_a_token_is_not_shown() -> None:
    line = _Line.to("https://data.example.org", "the-secret", timeout=1, patience=1)
    assert "data.example.org" in repr(line)
    assert "the-secret" not in repr(line)
