"""The order of the owner's table opens files that are in it, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.attacks.frame import Candidates, Lists
from sfumato.audits.attacks.positions import Numbers
from sfumato.audits.audit.findings import Finding
from sfumato.core.histograms import Histograms
from tests.support.attacks import planted

PEOPLE = planted(2_000, 0.0, seed=4)
MODEL = sf.LDiversity(4)


def leaking(seed: int) -> sf.PermutedTable:
    """A permuted release whose groups list their values in the order of the table."""
    people = numbered()
    release = sf.publish(people, sf.Anatomize(near=False), MODEL, form="permuted", seed=seed)
    truth = people.attributes["illness"].decode(people.codes["illness"])
    table = release.table.sort_by([("group_id", "ascending"), ("person", "ascending")])
    values = truth.take(table["person"].combine_chunks())
    column = table.column_names.index("illness")
    return replace(release, table=table.set_column(column, "illness", values))


def numbered() -> sf.Microdata:
    values = PEOPLE.attributes["illness"].decode(PEOPLE.codes["illness"])
    rows = pa.table({"person": np.arange(PEOPLE.n_rows), "illness": values})
    return sf.read(rows, sf.Schema(quasi=["person"], sensitive="illness"))


def attacked(release: Any, people: sf.Microdata, attack: str = "order") -> Finding:
    (one,) = sf.audit(release, people, attacks=[attack], seed=3).findings
    return one


def test_a_planted_order_is_found() -> None:
    one = attacked(leaking(1), numbered())
    assert one.outcome.attacker.right == 1.0
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.3
    assert one.verdict == "beaten"


@pytest.mark.parametrize("form", ["anatomized", "permuted"])
@pytest.mark.parametrize("near", [False, True])
def test_published_orders_tell_nothing(form: Any, near: bool) -> None:
    people = numbered()
    release = sf.publish(people, sf.Anatomize(near=near), MODEL, form=form, seed=1)
    one = attacked(release, people)
    assert one.outcome.attacker.right < 0.25 + 4 * one.outcome.attacker.noise
    assert one.verdict == "held"


def test_nor_do_the_lines_of_boxes() -> None:
    people = numbered()
    release = sf.publish(people, sf.Mondrian(), MODEL, seed=1)
    assert attacked(release, people).verdict == "held"


def test_boxes_in_the_order_of_the_table_are_found() -> None:
    people = numbered()
    release = sf.publish(people, sf.Mondrian(), MODEL, seed=1)
    truth = people.attributes["illness"].decode(people.codes["illness"])
    low = release.groups["person_min"].to_numpy()
    sizes = release.sizes
    # people are numbered, so a box holds consecutive ones, and its rows are listed as they stand
    starts = np.append(0, np.cumsum(sizes))[:-1]
    group = release.group_of_row
    rank = np.arange(len(group)) - starts[group]
    assert (np.diff(group) >= 0).all()
    values = truth.take(pa.array(low[group] + rank))
    leak = replace(release, rows=release.rows.set_column(0, "illness", values))
    one = attacked(leak, people)
    assert one.outcome.attacker.right == 1.0
    assert one.verdict == "beaten"


def test_a_permuted_table_that_is_not_permuted_is_found() -> None:
    """Nobody knows an order, and every line has its own value."""
    one = attacked(leaking(1), numbered(), "lines")
    assert one.outcome.attacker.right == 1.0
    assert one.verdict == "beaten"


@pytest.mark.parametrize("way", ["ascending", "descending"])
def test_lines_in_the_order_of_their_values_are_found(way: str) -> None:
    """An ST is in the order of its values; so is this QIT, or in the opposite one."""
    people = numbered()
    release = sf.publish(people, sf.Anatomize(near=False), MODEL, seed=1)
    truth = people.attributes["illness"].decode(people.codes["illness"])
    qit = release.qit.append_column("value", truth.take(release.qit["person"].combine_chunks()))
    qit = qit.sort_by([("group_id", "ascending"), ("value", way)]).drop_columns("value")
    attack = "lines" if way == "ascending" else "lines backwards"
    one = attacked(replace(release, qit=qit), people, attack)
    assert one.outcome.attacker.right == 1.0
    assert one.verdict == "beaten"


@pytest.mark.parametrize("attack", ["lines", "lines backwards", "order backwards"])
@pytest.mark.parametrize("form", ["anatomized", "permuted"])
def test_lines_of_a_release_tell_nothing(form: Any, attack: str) -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(near=False), MODEL, form=form, seed=1)
    one = attacked(release, PEOPLE, attack)
    assert one.outcome.attacker.right < 0.25 + 4 * one.outcome.attacker.noise
    assert one.verdict == "held"


def overlapping(groups: np.ndarray[Any, Any], n_groups: int) -> Candidates:
    """People of whom nobody knows more than that they are in one of all groups."""
    n = len(groups)
    people = PEOPLE.take(np.arange(n))
    values = Histograms.of_groups(people.attributes["illness"], groups % 8, groups, n_groups)
    everybody = np.arange(n, dtype=np.int32)
    every = Lists(np.arange(n + 1) * n_groups, np.tile(np.arange(n_groups, dtype=np.int32), n))
    return Candidates(
        people.quasi, people.quasi_codes(), Lists.single(everybody), np.ones(n, np.int64), every,
        values, Lists.single(everybody), everybody, everybody,
    )  # fmt: skip


def test_groups_numbered_in_the_order_of_the_table_are_found() -> None:
    groups = np.repeat(np.arange(8, dtype=np.int32), 25)
    mixed = np.random.default_rng(1).permutation(groups)
    for dealt, least, most in ((groups, 0.9, 1.0), (mixed, 0.0, 0.3)):
        guessed = Numbers(np.arange(200)).guess(overlapping(dealt, 8))
        assert least <= (guessed.values == dealt % 8).mean() <= most


def test_boxes_have_numbers_that_tell_nothing() -> None:
    release = sf.publish(PEOPLE, sf.Mondrian(relaxed=True), MODEL, seed=1)
    assert attacked(release, PEOPLE, "numbers").verdict == "held"
