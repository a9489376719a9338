"""Small seeds are found from the order of lines, secret chance and long seeds are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.seeds import Searched, ordered_lines, searched
from sfumato.audits.breach.view import View
from tests.support.attacks import planted
from tests.support.seeds import long_seed

PEOPLE = planted(2_000, 0.5, seed=1)
PLANTED = 1_777
SEEDS = range(2_000)


def published(seed: Any, *, near: bool = True, form: Any = "anatomized") -> Any:
    return sf.publish(PEOPLE, sf.Anatomize(near=near), sf.LDiversity(4), form=form, seed=seed)


def found(release: Any, people: sf.Microdata = PEOPLE) -> Searched:
    order = ordered_lines(release, View.of(release, None), known_people(people))
    assert order is not None
    return searched(order, SEEDS, 60.0)


@pytest.mark.parametrize("form", ["anatomized", "permuted"])
@pytest.mark.parametrize("near", [True, False], ids=["neighbours", "anybody"])
def test_a_small_seed_is_found(near: bool, form: Any) -> None:
    assert found(published(PLANTED, near=near, form=form)) == Searched(PLANTED, PLANTED + 1)


@pytest.mark.parametrize("seed", [None, long_seed(PLANTED), 5_000], ids=["chance", "long", "later"])
def test_other_seeds_are_not(seed: Any) -> None:
    assert found(published(seed)) == Searched(None, len(SEEDS))


def test_time_may_be_over() -> None:
    order = ordered_lines(
        release := published(PLANTED), View.of(release, None), known_people(PEOPLE)
    )
    assert order is not None
    ticks = iter(range(1_000))
    seen = searched(order, SEEDS, 2.5, lambda: float(next(ticks)))
    assert seen.seed is None
    assert 0 < seen.tried < len(SEEDS)


def test_boxes_and_people_who_are_all_alike_show_no_order() -> None:
    boxes = sf.publish(PEOPLE, sf.Mondrian(), sf.LDiversity(4), seed=PLANTED)
    assert ordered_lines(boxes, View.of(boxes, None), known_people(PEOPLE)) is None
    columns = {"x": np.zeros(200, np.int64), "s": [f"v{i % 8}" for i in range(200)]}
    alike = sf.read(pa.table(columns), sf.Schema(quasi=["x"], sensitive="s"))
    release = sf.publish(alike, sf.Anatomize(near=False), sf.LDiversity(4), seed=PLANTED)
    assert ordered_lines(release, View.of(release, None), known_people(alike)) is None
    audited = sf.audit(release, alike, attacks=["seed search"], seed=1)
    assert "alike" in audited.not_run["seed search"]


def test_an_audit_finds_a_planted_seed_and_accuses_nobody_else() -> None:
    (one,) = sf.audit(published(PLANTED), PEOPLE, attacks=["seed search"], seed=1).findings
    assert one.verdict == "beaten"
    assert one.outcome.control is not None
    assert one.outcome.control.right == 0
    whole = sf.audit(published(long_seed(3)), PEOPLE, attacks=["seed search"], seed=1)
    assert whole.findings[0].verdict == "held"
    assert not whole.fails()
    assert sf.audit(published(PLANTED), PEOPLE, attacks=["seed search"], seed=1).fails()
