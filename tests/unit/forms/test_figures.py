"""Figures of release.json: from what is published, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.forms.columns import Labels
from sfumato.forms.generalized.release import boxes_of
from sfumato.metrics.information_loss import ncp_by_attribute
from tests.support.releases import Fixed

TOWNS = {"any": {"north": ["Kiel", "Husum"], "south": ["Ulm", "Passau", "Lindau"]}}


def table(age: int, job: str) -> sf.Microdata:
    """Ten people of each age, and one who stands alone and is left out."""
    ages = [20 + i // 10 for i in range(100)]
    rows = pa.table(
        {
            "age": [*ages, age],
            "job": [*np.resize(["cook", "smith"], 100), job],
            "town": [*np.resize(["Kiel", "Husum", "Ulm"], 100), "Passau"],
            "ill": [*np.resize(["flu", "cold", "gout"], 100), "flu"],
        }
    )
    trees = {"town": sf.Taxonomy.from_nested(TOWNS)}
    schema = sf.Schema(quasi=["age", "job", "town"], sensitive="ill", taxonomies=trees)
    return sf.Microdata.from_arrow(rows, schema)


LEAVER = Fixed((*(i // 10 for i in range(100)), LEFT_OUT))  # whoever stands alone is left out
METHODS = [sf.FullDomain(suppress=0.5), sf.Subtree(suppress=0.5)]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("labels", ["ranges", "sets", "taxonomy", "suppression", "text"])
def test_release_json_does_not_hang_on_rows_that_are_left_out(
    method: Partitioner, labels: Labels
) -> None:
    """The attacker compares release.json with what every possible left-out row would give."""
    stated = set()
    for age, job in ((95, "pilot"), (40, "pilot"), (29, "cook")):
        people = table(age, job)
        made = sf.publish(people, method, sf.KAnonymity(3), labels=labels)
        if made.manifest.suppressed == 1:
            stated.add(made.manifest.to_json())
    assert len(stated) <= 1


def test_somebody_is_left_out() -> None:
    """The test above looks at something: the lonely row goes, and all others stay."""
    made = sf.publish(table(95, "pilot"), LEAVER, sf.KAnonymity(3))
    assert made.manifest.suppressed == 1
    assert made.manifest.rows == 100


def test_the_domain_is_that_of_published_rows(tmp_path: Path) -> None:
    """What the figures told before: from a group's loss, the age of somebody who is not there."""
    figures = []
    for age, job in ((95, "pilot"), (40, "baker")):
        people = table(age, job)
        made = sf.publish(people, LEAVER, sf.KAnonymity(3))
        figures.append(made.metrics)
        assert sf.verify(made.write(tmp_path / job)).ok
    assert figures[0] == figures[1]


def test_the_control_tells_the_age_of_whoever_is_left_out() -> None:
    """NCP over the whole table's domain, as it was: the domain's end can be solved for."""
    solved = []
    for age in (95, 40):
        people = table(age, "cook")
        groups = np.append(np.zeros(100, np.int32), -1).astype(np.int32)
        rows, kept = Partition.of(groups).kept()
        boxes = boxes_of(people.take(rows), kept, "ranges")
        lost = ncp_by_attribute(boxes, kept.sizes)["age"]
        solved.append(round(9 / lost) + 20)
    assert solved == [95, 40]


@pytest.mark.parametrize("labels", ["ranges", "sets", "taxonomy", "suppression", "text"])
def test_figures_are_those_of_the_boxes(labels: Labels) -> None:
    """With nobody left out, reading the tables gives what the boxes in memory give."""
    chance = np.random.default_rng(2)
    rows = pa.table(
        {
            "age": pa.array([None if i % 30 == 0 else int(i % 37) for i in range(300)], pa.int64()),
            "job": chance.choice(["nurse, night", "cook", "*", "missing"], 300),
            "town": chance.choice(["Kiel", "Husum", "Ulm", "Passau"], 300),
            "rank": chance.choice(["low", "mid, or so", "high"], 300),
        }
    )
    schema = sf.Schema(
        quasi=["age", "job", "town", "rank"],
        taxonomies={"town": sf.Taxonomy.from_nested(TOWNS)},
        orders={"rank": ["low", "mid, or so", "high"]},
    )
    people = sf.Microdata.from_arrow(rows, schema)
    groups = tuple(i // 6 for i in range(300))
    made = sf.publish(people, Fixed(groups), sf.KAnonymity(2), labels=labels)
    partition = Partition.of(np.array(groups, np.int32))
    boxes = boxes_of(people, partition, labels)
    found = made.metrics["ncp_by_attribute"]
    assert found == pytest.approx(ncp_by_attribute(boxes, partition.sizes), rel=1e-8)


@pytest.mark.parametrize("labels", ["ranges", "sets", "suppression", "text"])
def test_a_column_that_shows_nothing_is_lost_whole(labels: Labels, tmp_path: Path) -> None:
    rows = pa.table({"id": range(60), "sex": ["f", "m"] * 30, "ill": ["flu", "cold", "gout"] * 20})
    people = sf.Microdata.from_arrow(rows, sf.Schema(quasi=["id", "sex"], sensitive="ill"))
    made = sf.publish(people, sf.FullDomain(), sf.KAnonymity(5), labels=labels)
    assert made.metrics["ncp_by_attribute"] == {"id": 1.0, "sex": 0.0}
    assert (made.metrics["iloss"], made.metrics["reconstruction_error"]) == (60.0, 60.0)
    assert sf.verify(made.write(tmp_path / "out")).ok
