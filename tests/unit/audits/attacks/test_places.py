"""Orders that nobody expects are learnt from some people, and betray the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.audit.findings import Finding
from sfumato.core.arrays import Counts
from tests.support.attacks import planted

N = 3_000
MODEL = sf.LDiversity(4)


def numbered() -> sf.Microdata:
    """People with a number; some illnesses are more frequent than others."""
    random = np.random.default_rng(6)
    codes = random.choice(9, N, p=np.array([9, 8, 7, 6, 6, 4, 4, 3, 3]) / 50)
    names = np.array(["e", "a", "h", "c", "i", "b", "g", "d", "f"])
    rows = pa.table({"person": np.arange(N), "illness": names[codes]})
    return sf.read(rows, sf.Schema(quasi=["person"], sensitive="illness"))


PEOPLE = numbered()
CODES = PEOPLE.codes["illness"]
FREQUENCY = np.bincount(CODES)


def by_frequency(people: Counts) -> Any:
    """As the paper's algorithm puts rows into groups: out of the largest bins first."""
    return -FREQUENCY[CODES[people]]


def one_first(people: Counts) -> Any:
    """Only whoever has one illness stands out."""
    return np.where(CODES[people] == 2, -1.0, np.random.default_rng(1).random(len(people)))


def one_last(people: Counts) -> Any:
    return np.where(CODES[people] == 0, 2.0, np.random.default_rng(1).random(len(people)))


def sometimes(people: Counts) -> Any:
    """A shuffle that is left out in half of the groups."""
    shuffled = np.random.default_rng(1).random(len(people)) * 9
    return np.where(people % 2 == 0, CODES[people], shuffled)


def at_random(people: Counts) -> Any:
    return np.random.default_rng(2).random(len(people))


def sorted_by(order: Callable[[Counts], Any], *, near: bool) -> sf.AnatomizedTables:
    """An anatomized release whose groups list people in some order."""
    release = sf.publish(PEOPLE, sf.Anatomize(near=near), MODEL, seed=1)
    groups = release.qit["group_id"].to_numpy()
    lines = np.lexsort((order(release.qit["person"].to_numpy()), groups))
    return replace(release, qit=release.qit.take(pa.array(lines)))


def attacked(release: Any, people: sf.Microdata = PEOPLE, attack: str = "places") -> Finding:
    (one,) = sf.audit(release, people, attacks=[attack], seed=3).findings
    return one


@pytest.mark.parametrize(
    ("order", "least"),
    [(by_frequency, 0.5), (one_first, 0.31), (one_last, 0.31), (sometimes, 0.35)],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_an_order_that_nobody_expects_is_found(order: Any, least: float) -> None:
    one = attacked(sorted_by(order, near=False))
    assert one.outcome.attacker.right > least > 0.25 == one.outcome.bound
    assert one.verdict == "beaten"
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.25 + 4 * one.outcome.control.noise
    assert one.outcome.attacker.n == N // 2


def few_last(people: Counts) -> Any:
    """The rarest value, where somebody of it is met at all, as a column of nulls might be."""
    rarest = int(FREQUENCY.argmin())
    return np.where(CODES[people] == rarest, 2.0, np.random.default_rng(1).random(len(people)))


def test_those_whom_a_mean_hides_are_found() -> None:
    leak = sorted_by(few_last, near=True)
    assert attacked(leak).verdict == "held"
    one = attacked(leak, attack="places, surest")
    assert one.outcome.attacker.n == N // 2 // 20
    assert one.outcome.attacker.right > 0.6
    assert one.verdict == "beaten"
    assert one.outcome.valid


def test_the_fixed_orders_are_blind_to_it() -> None:
    """Or there would be no need to learn."""
    release = sorted_by(by_frequency, near=False)
    for fixed in ("lines", "lines backwards", "order", "order backwards"):
        assert attacked(release, attack=fixed).outcome.attacker.right < 0.35


def test_so_it_is_in_larger_groups() -> None:
    one = attacked(sorted_by(by_frequency, near=True))
    assert one.outcome.attacker.right > 0.4
    assert one.verdict == "beaten"


@pytest.mark.parametrize("form", ["anatomized", "permuted"])
@pytest.mark.parametrize("near", [False, True], ids=["anybody", "neighbours"])
def test_published_places_tell_nothing(form: Any, near: bool) -> None:
    release = sf.publish(PEOPLE, sf.Anatomize(near=near), MODEL, form=form, seed=1)
    one = attacked(release)
    assert one.outcome.attacker.right < 0.25 + 4 * one.outcome.attacker.noise
    assert one.verdict == "held"
    assert attacked(release, attack="places, surest").verdict == "held"


def test_control_an_order_by_chance_tells_nothing() -> None:
    assert attacked(sorted_by(at_random, near=False)).verdict == "held"


@pytest.mark.parametrize("way", [sf.Microaggregate(5), sf.Noise(0.3), sf.Swap(0.1)], ids=repr)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.filterwarnings("ignore::sfumato.errors.SfumatoWarning")
def test_masked_rows_in_the_order_of_the_table_are_found(way: Any, backwards: bool) -> None:
    people = planted(1_200, 0.5, seed=1)
    release = sf.mask(people, way, seed=1)
    attack = "order backwards" if backwards else "order"
    assert attacked(release, people, attack).verdict == "held"
    assert release.origin is not None
    back = np.argsort(release.origin)[:: -1 if backwards else 1]
    leak = replace(release, table=release.table.take(pa.array(back)), origin=release.origin[back])
    one = attacked(leak, people, attack)
    assert one.outcome.attacker.right > 0.5 > 0.1 == one.outcome.bound
    assert one.verdict == "beaten"
    assert one.outcome.control is not None
    assert one.outcome.control.right < 0.1 + 4 * one.outcome.control.noise
