"""Boxes that could not be cut tell what brute force finds, and little on tables of chance."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.minimality import Minimality, certain_groups
from sfumato.audits.attacks.releases import candidates_of
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import requirements
from tests.support.attacks import planted

SCHEMA = sf.Schema(quasi=["x", "y"], sensitive="s")
MODEL = sf.LDiversity(2)


def people(x: list[int], y: list[int], s: str) -> sf.Microdata:
    return sf.read(pa.table({"x": x, "y": y, "s": list(s)}), SCHEMA)


# nobody can be cut off: both a's are on one side, more likely on the longer one
WHOLE = people([0, 0, 1, 1, 1], [0] * 5, "bcaad")
# a line of two boxes, of which one is like the above
TWO = people([0, 0, 1, 1, 1, 9, 9, 8, 8], [0, 0, 0, 0, 0, 1, 1, 1, 1], "bcaadefgh")


def boxes(table: sf.Microdata) -> Any:
    return sf.publish(table, sf.Mondrian(), MODEL, seed=1)


def exact(table: sf.Microdata) -> np.ndarray[Any, Any]:
    """The chance of every value, over all ways that make the same boxes of the table."""
    needs = requirements(MODEL, table.schema)
    groups = sf.Mondrian().partition(table, needs, Randomness(0)).groups
    values, n_values = table.codes["s"], table.attributes["s"].size
    counts = np.zeros((table.n_rows, n_values))
    inside = [np.flatnonzero(groups == g) for g in range(groups.max() + 1)]

    def ways(left: list[Any], way: Any) -> Any:
        if not left:
            yield way
            return
        for order in permutations(values[left[0]].tolist()):
            more = way.copy()
            more[left[0]] = order
            yield from ways(left[1:], more)

    for way in ways(inside, np.zeros_like(values)):
        handed = replace(table, codes={**table.codes, "s": way})
        made = sf.Mondrian().partition(handed, needs, Randomness(0)).groups
        if all(len(set(made[own].tolist())) == 1 for own in inside) and (
            len(set(made.tolist())) == len(inside)
        ):
            counts[np.arange(table.n_rows), way] += 1
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def attacked(table: sf.Microdata, **options: Any) -> Any:
    release = boxes(table)
    shown = candidates_of(release, table)
    needs = requirements(MODEL, table.schema)
    return Minimality.of(sf.Mondrian(), needs, known_people(table), shown, **options).guess(shown)


@pytest.mark.parametrize("table", [WHOLE, TWO], ids=["one", "two"])
def test_chances_are_those_of_all_ways(table: sf.Microdata) -> None:
    expected = exact(table)
    found = attacked(table, tried=1_500, seconds=600.0)
    # eight ways more count by shares, and the rest is chance
    assert np.abs(found.confidence - expected.max(axis=1)).max() < 0.06
    clear = np.sort(expected, axis=1)[:, -1] > np.sort(expected, axis=1)[:, -2] + 0.1
    assert clear.any()
    assert (found.values == expected.argmax(axis=1))[clear].all()


def test_a_box_that_could_not_be_cut_tells_more_than_its_shares() -> None:
    """Of two in five the attacker makes one in two, for those of the longer side."""
    found = attacked(WHOLE, tried=1_000, seconds=600.0)
    a = 0
    assert found.values[2:].tolist() == [a] * 3
    assert found.confidence[2:] == pytest.approx([0.5] * 3, abs=0.06)


def test_time_may_be_over_before_it_begins() -> None:
    """Then the shares of boxes are all that is known."""
    found = attacked(WHOLE, seconds=-1.0)
    assert found.confidence.tolist() == pytest.approx([0.4] * 5)


def test_overlapping_boxes_are_passed_over() -> None:
    table = planted(300, 0.5, seed=1)
    release = sf.publish(table, sf.Mondrian(relaxed=True), sf.LDiversity(4), seed=1)
    assert (certain_groups(candidates_of(release, table)) < 0).any()


def test_an_audit_says_what_minimality_tells() -> None:
    table = planted(120, 0.3, seed=2)
    release = sf.publish(table, sf.Mondrian(), sf.LDiversity(4), seed=1)
    (one,) = sf.audit(release, table, attacks=["minimality"], seed=1).findings
    assert one.outcome.valid
    assert one.outcome.gain < 1.3
    # relaxed cuts are by chance, and closeness is about the whole table
    for way, model in (
        (sf.Mondrian(relaxed=True), sf.LDiversity(4)),
        (sf.Mondrian(), sf.TCloseness(0.4)),
    ):
        other = sf.publish(table, way, model, seed=1)
        with pytest.raises(sf.errors.ParameterError, match="no attack 'minimality'"):
            sf.audit(other, table, attacks=["minimality"])
