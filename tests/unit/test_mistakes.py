"""A wrong kind of thing at a public name: an error of ours says what to give, and shows nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SfumatoError
from tests.support.seeds import long_seed

MARK = "zebra"
PEOPLE = pd.DataFrame(
    {
        "age": [20 + row % 40 for row in range(120)],
        "job": [f"{MARK} {row % 7}" for row in range(120)],
        "disease": [f"{MARK} {row % 5}" for row in range(120)],
    }
)
ROLES: dict[str, Any] = {"quasi": ["age", "job"], "sensitive": "disease"}
SCHEMA = sf.Schema(**ROLES)
TABLE = sf.read(PEOPLE, SCHEMA)
RELEASE = sf.publish(TABLE, sf.Mondrian(), sf.KAnonymity(5))
K = sf.KAnonymity(5)

# what is done, typed as a user would who checks nothing, and what the error must say
MISTAKES: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "a dict for a schema": (lambda sf, _: sf.read(PEOPLE, ROLES), r"sf\.Schema\(\*\*roles\)"),
    "no schema": (lambda sf, _: sf.read(PEOPLE, None), "not None"),
    "schema first": (lambda sf, _: sf.read(SCHEMA, PEOPLE), "the table comes first"),
    "read twice": (lambda sf, _: sf.read(TABLE, SCHEMA), "used as it is"),
    "a frame as a table": (
        lambda sf, _: sf.publish(PEOPLE, sf.Mondrian(), K),
        r"a DataFrame of pandas.*sf\.read\(table, schema\)",
    ),
    "a release as a table": (lambda sf, _: sf.publish(RELEASE, model=K), "GeneralizedTable"),
    "a class as algorithm": (lambda sf, _: sf.publish(TABLE, sf.Mondrian, K), r"Mondrian\(\)"),
    "a text as algorithm": (lambda sf, _: sf.publish(TABLE, "mondrian", K), "sf.Mondrian"),
    "a class as model": (
        lambda sf, _: sf.publish(TABLE, sf.Mondrian(), sf.KAnonymity),
        r"make one: KAnonymity\(",
    ),
    "a number as model": (lambda sf, _: sf.publish(TABLE, sf.Mondrian(), 5), "not 5"),
    "swapped": (lambda sf, _: sf.publish(TABLE, K, sf.Mondrian()), "algorithm comes before"),
    "algorithm as model": (
        lambda sf, _: sf.publish(TABLE, sf.Mondrian(), sf.Mondrian()),
        "algorithm comes before",
    ),
    "no promise": (lambda sf, _: sf.publish(TABLE, sf.Mondrian()), "say what to promise"),
    "no models": (lambda sf, _: sf.publish(TABLE, sf.Mondrian(), []), "at least one model"),
    "a class in a list": (lambda sf, _: sf.publish(TABLE, model=[K, sf.LDiversity]), "LDiversity"),
    "a class behind &": (lambda sf, _: K & sf.LDiversity, r"make one: LDiversity\("),
    "model and k": (lambda sf, _: sf.publish(TABLE, model=K, k=3), "k and a model"),
    "roles twice": (
        lambda sf, _: sf.publish(PEOPLE, schema=SCHEMA, quasi=["age"], k=3),
        "keep one",
    ),
    "roles of a table that was read": (
        lambda sf, _: sf.publish(TABLE, quasi=["age"], k=3),
        "leave quasi out",
    ),
    "a text for k": (lambda sf, _: sf.KAnonymity("5"), "not '5'"),
    "a class in Direct": (lambda sf, _: sf.Direct(sf.Mondrian), r"Mondrian\(\)"),
    "a class in SeveralQIDs": (
        lambda sf, _: sf.SeveralQIDs(sf.Mondrian, [["age"], ["job"]]),
        r"Mondrian\(\)",
    ),
    "a class as mask": (lambda sf, _: sf.mask(TABLE, sf.Microaggregate), "Microaggregate"),
    "mask a frame": (lambda sf, _: sf.mask(PEOPLE, sf.Microaggregate(k=5)), "read it first"),
    "perturb a frame": (lambda sf, _: sf.perturb(PEOPLE, m=4), "read it first"),
    "evaluate with a frame": (lambda sf, _: sf.evaluate(RELEASE, PEOPLE), "read it first"),
    "evaluate swapped": (lambda sf, _: sf.evaluate(TABLE, RELEASE), "not a value of type General"),
    "audit with a frame": (lambda sf, _: sf.audit(RELEASE, PEOPLE), "read it first"),
    "a database of a frame": (
        lambda sf, place: sf.StatDB.create(place / "db", PEOPLE, m=3),
        "read it first",
    ),
    "belief about a frame": (lambda sf, _: sf.belief(RELEASE, PEOPLE), "must be a mapping"),
    "breach of a frame": (lambda sf, _: sf.row_breach(PEOPLE), "must be a release"),
    "ask a frame": (lambda sf, _: sf.matching(PEOPLE, ["SELECT COUNT(*) FROM t"]), "be asked"),
    "a workload of a frame": (
        lambda sf, _: sf.anatomy_workload(PEOPLE, dimensionality=1),
        "read it first",
    ),
    "verify in memory": (lambda sf, _: sf.verify(RELEASE), r"release\.write\(folder\)"),
    "load in memory": (lambda sf, _: sf.load(RELEASE), r"release\.write\(folder\)"),
    "from_arrow of a frame": (lambda sf, _: sf.Microdata.from_arrow(PEOPLE, SCHEMA), r"sf\.read"),
    "feasible, swapped": (lambda sf, _: sf.require_feasible(TABLE, K), "read it first"),
    "feasible for a model": (lambda sf, _: sf.require_feasible(K, TABLE), r"requirements\(model"),
    "write a path as schema": (
        lambda sf, place: sf.write_schema(place / "s.toml", "schema.toml"),
        "must be a Schema",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_what_would_work(name: str, tmp_path: Path) -> None:
    make, words = MISTAKES[name]
    with pytest.raises(SfumatoError, match=words) as caught:
        make(sf, tmp_path)
    assert MARK not in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_the_hurried_form_is_the_clear_one() -> None:
    clear = sf.publish(TABLE, sf.Mondrian(), sf.KAnonymity(5) & sf.LDiversity(2), seed=long_seed(1))
    hurried = sf.publish(PEOPLE, k=5, l=2, **ROLES, seed=long_seed(1))
    assert hurried.table.equals(clear.table)
    assert hurried.manifest == clear.manifest


def test_letters_go_with_any_algorithm_and_form() -> None:
    apart = sf.publish(PEOPLE, sf.Anatomize(), l=3, schema=SCHEMA)
    assert isinstance(apart, sf.AnatomizedTables)
    boxes = sf.publish(TABLE, t=0.4, form="generalized")
    assert boxes.manifest.promise == ({"model": "t-closeness", "t": 0.4, "on": "disease"},)


def test_a_list_of_models_asks_for_all() -> None:
    asked = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]
    together = sf.publish(TABLE, sf.Mondrian(), asked, seed=long_seed(1))
    joined = sf.publish(TABLE, sf.Mondrian(), asked[0] & asked[1], seed=long_seed(1))
    assert together.table.equals(joined.table)
    assert together.manifest == joined.manifest


def test_a_path_is_a_schema(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    sf.write_schema(tmp_path / "schema.toml", SCHEMA)
    table = sf.read(tmp_path / "people.csv", tmp_path / "schema.toml")
    assert table.schema == SCHEMA
    assert sf.assess(tmp_path / "people.csv", tmp_path / "schema.toml").rows == 120
    made = sf.publish_file(
        tmp_path / "people.csv", tmp_path / "schema.toml", sf.Mondrian(), [K], tmp_path / "out"
    )
    assert made.rows == 120


def test_a_profile_is_of_any_table(tmp_path: Path) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    assert sf.profile(PEOPLE) == sf.profile(tmp_path / "people.csv")


def test_parameters_are_named() -> None:
    with pytest.raises(ParameterError) as caught:
        sf.publish(TABLE, sf.Mondrian(), 5)  # type: ignore[call-overload]
    assert caught.value.parameter == "model"
