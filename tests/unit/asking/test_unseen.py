"""Conditions on values that no row of a release can have."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.asking.unseen import unseen
from sfumato.core.askable import Askable
from tests.support.releases import anatomized, generalized
from tests.support.tables import microdata

COLUMNS: dict[str, Any] = {
    "age": [20, 30, 40, 50] * 3,
    "sex": ["female", "male"] * 6,
    "rank": ["low", "high", "low", "low"] * 3,
    "ill": ["flu", "cold", "gout"] * 4,
}
GROUPS = [0] * 6 + [1] * 6


def table() -> sf.Microdata:
    return microdata(COLUMNS, sensitive=["ill"], orders={"rank": ["low", "middle", "high"]})


SOURCES: dict[str, Any] = {
    "table": table,
    "boxes": lambda: generalized(table(), GROUPS),
    "sets": lambda: generalized(table(), GROUPS, "sets"),
    "apart": lambda: anatomized(table(), GROUPS),
    "noise": lambda: sf.perturb(table(), m=2, seed=1),
}


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> Askable:
    made: Askable = SOURCES[request.param]()
    return made


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("sex = 'femal'", "no row can have sex = 'femal'; did you mean 'female'?"),
        ("sex <> 'femal'", "no row can have sex = 'femal'; did you mean 'female'?"),
        ("NOT sex = 'Male'", "no row can have sex = 'Male'; did you mean 'male'?"),
        ("sex IN ('female', 'x')", "no row can have sex = 'x'; there are female, male"),
        ("ill = 'fluu'", "no row can have ill = 'fluu'; did you mean 'flu'?"),
        ("age = 200", "no row can have age = 200"),
        ("age > 200", "no row can satisfy the condition on 'age'"),
        ("rank = 'lo'", "no row can have rank = 'lo'; did you mean 'low'?"),
    ],
)
def test_a_value_outside_of_what_is_published_is_told(
    source: Askable, where: str, said: str
) -> None:
    assert unseen(source, f"SELECT COUNT(*) FROM t WHERE {where}") == (said,)


@pytest.mark.parametrize(
    "where",
    [
        "sex = 'female' AND age < 35",
        "age BETWEEN 20 AND 30 OR age = 50",
        "sex IS NULL",
        "ill <> 'flu'",
    ],
)
def test_nothing_is_said_about_other_questions(source: Askable, where: str) -> None:
    assert unseen(source, f"SELECT COUNT(*) FROM t WHERE {where}") == ()


def test_two_conditions_that_nobody_satisfies_together_are_an_answer() -> None:
    release = anatomized(table(), GROUPS)
    asked = "SELECT COUNT(*) FROM t WHERE sex = 'female' AND age = 30"
    assert release.query(asked).answers[0][0].hi == 0
    assert unseen(release, asked) == ()


def test_rows_that_were_left_out_do_not_count() -> None:
    towns = sf.Taxonomy.from_nested({"*": {"west": ["a", "b"], "east": ["c"]}})
    people = microdata(
        {"town": ["a"] * 10 + ["b"] * 10 + ["c"], "s": (list("xy") * 11)[:21]},
        sensitive=["s"],
        taxonomies={"town": towns},
    )
    release = sf.publish(people, sf.FullDomain(suppress=0.1), sf.KAnonymity(5))
    assert release.manifest.suppressed == 1
    assert unseen(release, "SELECT COUNT(*) FROM t WHERE s = 'z'") == (
        "no row can have s = 'z'; there are x, y",
    )


@pytest.mark.slow
def test_long_lists_and_chains_are_looked_at_in_part() -> None:
    release = anatomized(table(), GROUPS)
    many = " OR ".join(f"sex = 'v{n}'" for n in range(3000))
    assert len(unseen(release, f"SELECT COUNT(*) FROM t WHERE {many}")) == 50


@pytest.mark.parametrize("letter", ["z", "\u00e9", "\U0001f600"], ids=["1", "2", "4"])
def test_a_sentence_is_as_short_as_a_message(source: Askable, letter: str) -> None:
    (said,) = unseen(source, f"SELECT COUNT(*) FROM t WHERE sex = '{letter * 5000}'")
    assert len(said.encode()) < 1000
    assert said.startswith(f"no row can have sex = '{letter * 50}")
    assert said.endswith("there are female, male")
