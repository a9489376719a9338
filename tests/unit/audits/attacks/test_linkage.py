"""Linking people to lines finds what is planted: small groups, lines of one's own, no noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.linkage import gower, picked, shown_shares
from sfumato.audits.attacks.noise import unperturbed
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.audit.findings import Finding
from sfumato.audits.breach.matching import cells_of
from sfumato.audits.breach.persons import Persons
from tests.support.attacks import planted

PEOPLE = planted(2_000, 0.5, seed=4)
NOTHING = planted(2_000, 0.0, seed=5)
MODEL = sf.LDiversity(4)


def attacked(release: Any, people: sf.Microdata, attack: str) -> Finding:
    (one,) = sf.audit(release, people, attacks=[attack], seed=3).findings
    return one


def test_distances_are_those_of_gower() -> None:
    quasi, points = PEOPLE.quasi, PEOPLE.quasi_codes()[:30]
    found = gower(quasi, points[:5], points)
    for i in range(5):
        for j in range(30):
            parts = [
                abs(int(a) - int(b)) / (one.size - 1) if one.ordered else float(a != b)
                for one, a, b in zip(quasi, points[i], points[j], strict=True)
            ]
            assert found[i, j] == pytest.approx(np.mean(parts), abs=1e-5)


def test_near_lines_tell_values_in_groups_of_anybody() -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL, seed=1)
    one, reader = attacked(release, PEOPLE, "nearest"), attacked(release, PEOPLE, "reader")
    assert one.outcome.attacker.right > reader.outcome.attacker.right + 0.05
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.25 + 4 * one.outcome.control.noise
    assert one.outcome.valid


@pytest.mark.parametrize("way", [sf.Anatomize(near=False), sf.Mondrian()], ids=["groups", "boxes"])
def test_near_lines_tell_nothing_where_nothing_goes_together(way: Any) -> None:
    release = sf.publish(NOTHING, way, MODEL, seed=1)
    assert attacked(release, NOTHING, "nearest").verdict == "held"


def test_shares_of_a_point_are_those_of_its_group() -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL, seed=1)
    shares = shown_shares(candidates_of(release, PEOPLE))
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares.max() <= 0.25 + 1e-9


def test_boxes_that_do_not_overlap_are_linked_at_one_by_their_lines() -> None:
    release = sf.publish(PEOPLE, sf.Mondrian(), sf.KAnonymity(10), seed=1)
    people = Persons.true(release, PEOPLE)
    chances = picked(cells_of(release, people.names), people)
    assert chances.sum() == pytest.approx(len(release.sizes))  # one right link for every box
    one = attacked(release, PEOPLE, "linkage")
    assert one.outcome.bound == 0.1
    assert one.verdict == "held"


def test_overlapping_boxes_are_linked_no_better() -> None:
    release = sf.publish(PEOPLE, sf.Mondrian(relaxed=True), sf.KAnonymity(10), seed=1)
    assert attacked(release, PEOPLE, "linkage").verdict == "held"


def test_groups_smaller_than_promised_are_found() -> None:
    release = sf.publish(PEOPLE, sf.Mondrian(), sf.KAnonymity(2), seed=1)
    promise = tuple({**one, "k": 20} for one in release.manifest.promise)
    lying = replace(release, manifest=replace(release.manifest, promise=promise))
    one = attacked(lying, PEOPLE, "linkage")
    assert one.outcome.attacker.right > 0.2
    assert one.outcome.valid is (one.verdict == "beaten")


def test_without_a_sensitive_column_people_are_still_linked() -> None:
    columns = {n: PEOPLE.attributes[n].decode(PEOPLE.codes[n]) for n in ("age", "place", "job")}
    people = sf.read(pa.table(columns), sf.Schema(quasi=list(columns)))
    release = sf.publish(people, sf.Mondrian(), sf.KAnonymity(10), seed=1)
    found = sf.audit(release, people, seed=1)
    assert found.sensitive is None
    assert "linkage" in [one.name for one in found.findings]
    assert "no column is sensitive" in found.not_run["guessing values"]
    assert "finds the line of" in found.summary
    assert found.to_dict()["bound"] is None
    with pytest.raises(sf.errors.SchemaError, match="no column is sensitive"):
        sf.audit(release, people, sensitive="illness")


def test_noise_is_read_through_as_far_as_is_promised() -> None:
    release = sf.perturb(NOTHING, m=4, seed=1)
    one = attacked(release, NOTHING, "linkage")
    # people who are alike cannot tell whose of their lines is whose
    assert 0.15 < one.outcome.attacker.right < 0.25 + 4 * one.outcome.attacker.noise
    assert one.verdict == "held"


def test_a_table_without_its_noise_is_found() -> None:
    release = sf.perturb(NOTHING, m=4, seed=1)
    columns = {n: NOTHING.attributes[n].decode(NOTHING.codes[n]) for n in NOTHING.codes}
    table = pa.table(columns).select(release.table.column_names).cast(release.table.schema)
    one = attacked(replace(release, table=table), NOTHING, "linkage")
    assert one.outcome.attacker.right > 0.6
    assert one.verdict == "beaten"


def test_frequencies_without_noise() -> None:
    true = np.array([0.7, 0.2, 0.1, 0.0])
    shown = 0.4 * true + 0.6 / 4
    found = unperturbed((shown * 100_000).round().astype(np.int64), 0.4, 0.6 / 4)
    assert np.allclose(found, true, atol=1e-3)
