"""Small seeds are found from the order of what is published; chance and long seeds are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.seeds import Searched, order_of, searched
from tests.support.attacks import planted
from tests.support.seeds import long_seed

PEOPLE = planted(2_000, 0.5, seed=1)
PLANTED = 1_777
SEEDS = range(2_000)
MODEL = sf.LDiversity(4)


def published(seed: Any, *, near: bool = True, form: Any = "anatomized") -> Any:
    return sf.publish(PEOPLE, sf.Anatomize(near=near), sf.LDiversity(4), form=form, seed=seed)


def found(release: Any, people: sf.Microdata = PEOPLE) -> Searched:
    order = order_of(release, known_people(people), None)
    assert order is not None
    return searched(order, SEEDS, 60.0)


@pytest.mark.parametrize("form", ["anatomized", "permuted"])
@pytest.mark.parametrize("near", [True, False], ids=["neighbours", "anybody"])
def test_a_small_seed_is_found(near: bool, form: Any) -> None:
    assert found(published(PLANTED, near=near, form=form)) == Searched(PLANTED, PLANTED + 1)


@pytest.mark.parametrize("seed", [None, long_seed(PLANTED), 5_000], ids=["chance", "long", "later"])
def test_other_seeds_are_not(seed: Any) -> None:
    assert found(published(seed)) == Searched(None, len(SEEDS))


WAYS: dict[str, Callable[[Any], Any]] = {
    "ranges": lambda seed: sf.publish(PEOPLE, sf.Mondrian(), MODEL, seed=seed),
    "sets": lambda seed: sf.publish(PEOPLE, sf.Mondrian(), MODEL, labels="sets", seed=seed),
    "means": lambda seed: sf.publish(PEOPLE, sf.Mondrian(), MODEL, means=True, seed=seed),
    "overlapping": lambda seed: sf.publish(PEOPLE, sf.Mondrian(relaxed=True), MODEL, seed=seed),
    "clusters": lambda seed: sf.publish(PEOPLE, sf.TopDown(), sf.KAnonymity(10), seed=seed),
    "cells": lambda seed: sf.publish(
        PEOPLE, sf.FullDomain(suppress=0.2), sf.KAnonymity(5), seed=seed
    ),
    "noise": lambda seed: sf.perturb(PEOPLE, m=3, seed=seed),
}


@pytest.mark.parametrize("way", WAYS)
def test_so_is_that_of_boxes_and_of_noise(way: str) -> None:
    """Their lines do not show whose they are; boxes have an order, and so have noisy rows."""
    assert found(WAYS[way](PLANTED)) == Searched(PLANTED, PLANTED + 1)
    for other in (None, long_seed(PLANTED)):
        assert found(WAYS[way](other)) == Searched(None, len(SEEDS))


def test_a_folder_shows_as_much(tmp_path: Path) -> None:
    for way in ("sets", "means", "noise"):
        written = WAYS[way](PLANTED).write(tmp_path / way, experiment=True)
        assert found(sf.load(written)) == Searched(PLANTED, PLANTED + 1)


def test_time_may_be_over() -> None:
    order = order_of(published(PLANTED), known_people(PEOPLE), None)
    assert order is not None
    ticks = iter(range(1_000))
    seen = searched(order, SEEDS, 2.5, lambda: float(next(ticks)))
    assert seen.seed is None
    assert 0 < seen.tried < len(SEEDS)


def test_people_who_are_all_alike_show_no_order() -> None:
    columns = {"x": np.zeros(200, np.int64), "s": [f"v{i % 8}" for i in range(200)]}
    alike = sf.read(pa.table(columns), sf.Schema(quasi=["x"], sensitive="s"))
    for release in (
        sf.publish(alike, sf.Anatomize(near=False), MODEL, seed=PLANTED),
        sf.publish(alike, sf.Mondrian(), MODEL, seed=PLANTED),
        sf.perturb(alike, m=3, seed=PLANTED),
    ):
        assert order_of(release, known_people(alike), None) is None
        audited = sf.audit(release, alike, attacks=["seed search"], seed=1)
        assert "alike" in audited.not_run["seed search"]


def test_an_audit_finds_a_planted_seed_and_accuses_nobody_else() -> None:
    (one,) = sf.audit(published(PLANTED), PEOPLE, attacks=["seed search"], seed=1).findings
    assert one.verdict == "beaten"
    assert one.sentence == "finds the seed, which undoes all chance"
    assert one.outcome.control is not None
    assert one.outcome.control.right == 0
    whole = sf.audit(published(long_seed(3)), PEOPLE, attacks=["seed search"], seed=1)
    assert whole.findings[0].verdict == "held"
    assert whole.findings[0].sentence == "finds no seed that made it"
    assert not whole.fails()
    assert sf.audit(published(PLANTED), PEOPLE, attacks=["seed search"], seed=1).fails()
