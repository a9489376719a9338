"""Attacks on databases: what answers tell at most, and what attackers make of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.equality import candidates_of_cohorts, closed
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.outside import Outside
from sfumato.errors import DataError, ParameterError
from sfumato.statdb.audit import told
from tests.support.attacks import planted
from tests.support.seeds import long_seed

M = 4
PEOPLE, OTHERS = planted(1_600, 0.5, seed=1), planted(3_000, 0.5, seed=2)


def made(place: Path, **options: object) -> sf.StatDB:
    return sf.StatDB.create(place / "db", PEOPLE, m=M, seed=long_seed(1), **options)  # type: ignore[arg-type]


def right(found: sf.Audit) -> dict[str, float]:
    return {one.name: one.outcome.attacker.right for one in found.findings}


def test_neighbours_tell_less_than_groups_that_are_regrouped(tmp_path: Path) -> None:
    attacks = ["deFinetti", "learner"]
    near, far = (
        made(tmp_path / name, **options).audit(others=OTHERS, attacks=attacks, seed=1)
        for name, options in (("near", {}), ("far", {"cohort": 8}))
    )
    assert near.bound == far.bound == 1 / M
    for attack in attacks:
        assert right(near)[attack] < right(far)[attack] - 0.1
    assert near.valid
    assert far.valid
    assert not near.fails()
    assert far.fails(above=1.3)
    assert right(far)["learner"] > 0.85


@pytest.mark.parametrize("cohort", [1, 3])
def test_cohorts_are_what_questions_find(cohort: int, tmp_path: Path) -> None:
    """By questions about people who are numbered, as in audits/attacks/equality.py."""
    rows = {"person": list(range(120)), "ill": [f"i{number % 6}" for number in range(120)]}
    people = sf.read(pa.table(rows), sf.Schema(quasi=["person"], sensitive="ill"))
    db = sf.StatDB.create(tmp_path / "db", people, m=3, cohort=cohort, seed=long_seed(1))
    table = db.table()
    names = table.attributes["person"].decode(table.codes["person"]).to_pylist()
    values = table.attributes["ill"].values.to_pylist()

    def upper(persons: list[int], value: int) -> int:
        wanted = ", ".join(str(names[one]) for one in persons)
        return int(db.count(f"person IN ({wanted}) AND ill = '{values[value]}'").hi)

    asked = closed(upper, table.n_rows, len(values))  # type: ignore[arg-type]
    by_questions = candidates_of_cohorts(asked, table, table.sensitive[0])
    at_once = told(db.responder, table)
    assert _classes(at_once) == _classes(by_questions)
    found, expected = (Outside().guess(one).confidence for one in (at_once, by_questions))
    assert np.allclose(found, expected)


def _classes(candidates: Candidates) -> set[tuple[int, ...]]:
    starts, persons = candidates.members
    return {tuple(sorted(one.tolist())) for one in np.split(persons, starts[1:-1])}


def test_a_release_beside_a_database_tells_more_than_either(tmp_path: Path) -> None:
    """On what questions cannot tell from chance: the control is shuffled in both."""
    release = sf.publish(PEOPLE, sf.Anatomize(near=False), sf.LDiversity(M), seed=1)
    found = made(tmp_path, first="signatures", cohort=1).audit(
        releases=[release], attacks=["reader", "composition 2"], seed=1
    )
    assert found.valid
    assert right(found)["composition 2"] > right(found)["reader"] + 0.1
    boxes = sf.publish(PEOPLE, sf.Mondrian(), sf.KAnonymity(5), seed=1)
    assert (
        made(tmp_path / "near")
        .audit(releases=[boxes], attacks=["composition 2"], control=False, seed=1)
        .findings
    )
    with pytest.raises(ParameterError, match="tells nothing to compose with"):
        sf.StatDB.open(tmp_path / "db").audit(releases=[sf.perturb(PEOPLE, m=2, seed=1)])


def test_two_databases_of_one_table_tell_more_than_either(tmp_path: Path) -> None:
    columns = {"person": np.arange(800), "illness": [f"i{one % 8}" for one in range(800)]}
    people = sf.read(pa.table(columns), sf.Schema(quasi=["person"], sensitive="illness"))
    one, other = (
        sf.StatDB.create(tmp_path / name, people, m=M, cohort=1, first="signatures", seed=seed)
        for name, seed in (("one", long_seed(1)), ("again", long_seed(2)))
    )
    found = one.audit(releases=[other.path], attacks=["reader", "composition 2"], seed=1)
    assert found.valid
    assert right(found)["composition 2"] > right(found)["reader"] + 0.1
    assert found.findings[1].who == "asks the database again, too"
    few = sf.StatDB.create(tmp_path / "few", PEOPLE.take(np.arange(800)), m=M, seed=long_seed(3))
    with pytest.raises(DataError, match="database of other rows"):
        one.audit(releases=[few.path], seed=1)


def test_counterfeits_hide_who_is_left(tmp_path: Path) -> None:
    """Nobody's group tells more when others have gone, since their values stay in it."""
    db = made(tmp_path)
    table = db.table()
    gone = table.take(np.arange(0, table.n_rows, 2))
    db.apply(deleted=gone)
    after = sf.StatDB.open(db.path)
    assert after.counterfeits == gone.n_rows
    left = after.table()
    candidates = told(after.responder, left)
    assert candidates.totals.sum() == len(after.responder.stored.group_of())  # type: ignore[union-attr]
    assert Outside().guess(candidates).confidence.max() <= 1 / M + 1e-6
    found = after.audit(attacks=["reader"], control=False, seed=1)
    assert right(found)["reader"] < 1 / M + 4 * found.findings[0].outcome.attacker.noise


@pytest.mark.parametrize("kind", [{}, {"cohort": 8}], ids=["neighbours", "cohorts"])
def test_no_answers_tell_two_worlds_apart_or_can_be_taken_apart(
    kind: dict[str, int], tmp_path: Path
) -> None:
    pytest.importorskip("scipy")
    found = made(tmp_path, **kind).audit(
        attacks=["two worlds", "reconstruction"], seed=1, time_limit=30
    )
    worlds, rebuilt = found.findings
    assert worlds.verdict == "held"
    assert worlds.outcome.attacker.right == 0
    assert worlds.outcome.control is not None
    assert worlds.outcome.control.right < 0.5
    assert rebuilt.outcome.valid
    assert not found.fails()
    assert "tells the two apart by 0 of 100 answers" in worlds.sentence
    assert "two apart" not in found.summary  # which is about what did not hold
