"""Databases of neighbours: answers against all tables that their one version allows, and promises
over random changes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.statdb.count.neighbours import near_count_plain
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, assembled
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates import updated
from sfumato.statdb.updates.neighbours import Settled, resettled

SCHEMA = sf.Schema(quasi=["x", "y"], sensitive="s")


def rows(random: np.random.Generator, n: int, values: int, wide: int = 6) -> pa.Table:
    x = random.integers(0, wide, n)
    s = (x + random.integers(0, values, n)) % values
    return pa.table({"x": x, "y": random.integers(0, 3, n), "s": s})


def microdata(table: pa.Table) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, SCHEMA)


def near(responder: Responder) -> Neighbourhoods:
    assert isinstance(responder.stored, Neighbourhoods)
    return responder.stored


def without_some(
    responder: Responder, random: np.random.Generator, n: int, new: pa.Table | None = None
) -> Responder:
    people = columns(responder.table())
    gone = microdata(people.take(pa.array(random.permutation(len(people))[:n]))) if n else None
    came = None if new is None else microdata(new)
    chance = Randomness(int(random.integers(2**31)))
    before = people.slice(0, 0)
    return updated(responder, before, came, gone, chance, twins="member").responder


def columns(table: sf.Microdata) -> pa.Table:
    return pa.table({name: table.attributes[name].decode(table.codes[name]) for name in "xys"})


def compatible(responder: Responder) -> Iterator[list[dict[str, Any]]]:
    """Every table with the same rows and signatures: values are handed out in every way."""
    stored = near(responder)
    base, occupied = stored.groups.base.tolist(), set(stored.occupied().tolist())
    ways = [
        {order[: len(own)] for order in permutations(stored.values[a:b].tolist())}
        for a, b in pairwise(base)
        for own in [[place for place in range(a, b) if place in occupied]]
    ]
    people = columns(responder.table()).to_pylist()
    for chosen in product(*ways):
        values = [value for group in chosen for value in group]
        yield [{**row, "s": value} for row, value in zip(people, values, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_intervals_are_those_of_all_tables(seed: int) -> None:
    """COUNT and the aggregates are as tight as the version allows, with counterfeits, too."""
    random = np.random.default_rng(seed)
    table = pa.table({"x": random.integers(0, 4, 7), "y": [0] * 7, "s": [0, 0, 1, 1, 2, 2, 3]})
    responder = Responder.create(microdata(table), m=2, size=int(random.integers(2, 5)), seed=seed)
    responder = without_some(responder, random, seed % 3)
    tables = list(compatible(responder))
    assert len(tables) > 1
    for low, first in product(range(3), range(3)):
        x, s = range(low, low + 2), range(first, first + 2)
        where = f"x BETWEEN {x[0]} AND {x[-1]} AND s BETWEEN {s[0]} AND {s[-1]}"
        held = [[row["s"] for row in one if row["x"] in x and row["s"] in s] for one in tables]
        found = responder.count(where)
        assert (found.lo, found.hi) == (min(map(len, held)), max(map(len, held)))
        (answers,) = responder.query(f"SELECT SUM(s), MIN(s), MAX(s) FROM t WHERE {where}").answers
        some = [one for one in held if one]
        if some:
            ends = [list(map(sum, held)), list(map(min, some)), list(map(max, some))]
            for answer, own in zip(answers, ends, strict=True):
                assert (answer.lo, answer.hi) == (min(own), max(own))


def boxed_counts(stored: Neighbourhoods, x: range, s: range) -> tuple[int, int]:
    """Fewest and most, over all ways to hand out values and to put rows into their boxes."""
    lo = hi = 0
    is_row = stored.flags(stored.everybody)
    for a, b in pairwise(stored.groups.base.tolist()):
        here = stored.codes["x"][a:b][is_row[a:b]].tolist()
        box = range(min(here), max(here) + 1)
        ins = [True] if set(box) <= set(x) else [True, False] if set(box) & set(x) else [False]
        counts = {
            sum(inside and value in s for inside, value in zip(way, order, strict=True))
            for order in set(permutations(stored.values[a:b].tolist(), len(here)))
            for way in product(ins, repeat=len(here))
        }
        lo, hi = lo + min(counts), hi + max(counts)
    return lo, hi


@pytest.mark.parametrize("seed", range(8))
def test_boxes_are_answered_by_all_they_allow(seed: int) -> None:
    random = np.random.default_rng(seed)
    table = pa.table(
        {"x": random.integers(0, 6, 10), "y": [0] * 10, "s": [0, 0, 1, 1, 2, 2, 3] * 1 + [0, 1, 3]}
    )
    made = Responder.create(
        microdata(table),
        m=2,
        size=int(random.integers(2, 4)),
        framework="generalization",
        seed=seed,
    )
    responder = without_some(made, random, seed % 3)
    # in the codes of the first database; nobody who has left takes a code along
    assert responder.axes["x"].line == sorted(set(table["x"].to_pylist()))
    line = responder.axes["x"].line
    open_ = replace(responder, framework="anatomy")
    for low, first in product(range(len(line)), range(3)):
        x, s = range(low, min(low + 2, len(line))), range(first, first + 2)
        where = f"x BETWEEN {line[x[0]]} AND {line[x[-1]]} AND s BETWEEN {s[0]} AND {s[-1]}"
        found, exact = responder.count(where), open_.count(where)
        assert (found.lo, found.hi) == boxed_counts(near(responder), x, s)
        assert found.lo <= found.estimate <= found.hi
        assert found.lo <= exact.lo <= exact.hi <= found.hi
        sums = f"SELECT SUM(s), AVG(s), MIN(s), MAX(s) FROM t WHERE {where}"
        (wide,), (narrow,) = responder.query(sums).answers, open_.query(sums).answers
        for one, other in zip(wide, narrow, strict=True):
            assert other.lo is None or one.lo <= other.lo <= other.hi <= one.hi
    assert responder.count().exact


@pytest.mark.parametrize("framework", ["anatomy", "generalization"])
def test_real_sizes_contain_the_truth(framework: Any) -> None:
    random = np.random.default_rng(9)
    table = microdata(rows(random, 6_000, 30, wide=90))
    responder = without_some(
        Responder.create(table, m=5, framework=framework, seed=2),
        random,
        400,
        rows(random, 300, 30),
    )
    people = responder.table()
    for _ in range(60):
        (a, b), (c, d) = (sorted(random.integers(0, n, 2).tolist()) for n in (90, 30))
        where = f"x BETWEEN {a} AND {b} AND y <= 1 AND s BETWEEN {c} AND {d}"
        truth = people.query(
            f"SELECT COUNT(*), SUM(s), AVG(s), MIN(s), MAX(s) FROM t WHERE {where}"
        )
        found = responder.query(
            f"SELECT COUNT(*), SUM(s), AVG(s), MIN(s), MAX(s) FROM t WHERE {where}"
        )
        for own, true in zip(found.answers[0], truth.answers[0], strict=True):
            assert true.lo is None or true.lo in own


@pytest.mark.parametrize("size", [3, 15, 40, 200])
@pytest.mark.parametrize("values", [7, 300])
def test_the_kernel_counts_as_plain_counting_does(size: int, values: int) -> None:
    """Enough rows for many words and stretches, values in one digit and in several."""
    random = np.random.default_rng(size)
    table = microdata(rows(random, 9_000, values, wide=400))
    responder = without_some(Responder.create(table, m=3, size=size, seed=1), random, 500)
    stored = near(responder)
    is_row, base = stored.flags(stored.everybody), stored.groups.base
    x, s = stored.codes["x"], stored.values
    for _ in range(40):
        a, b = sorted(random.integers(0, 400, 2).tolist())
        c, d = sorted(random.integers(0, values, 2).tolist())
        found = responder.count(f"x BETWEEN {a} AND {b} AND s BETWEEN {c} AND {d}")
        here = is_row & (x >= a) & (x <= b)
        expected, lo, hi = near_count_plain(base, here, (s >= c) & (s <= d))
        assert (found.lo, found.hi) == (lo, hi)
        assert found.estimate == pytest.approx(expected)
        truth = int((here[: len(s)] & (s >= c) & (s <= d)).sum())
        assert found.lo <= truth <= found.hi
    apart = responder.count("x IN (3, 9, 200) AND s IN (0, 2, 5)")
    here = is_row & np.isin(x, (3, 9, 200))
    assert (apart.lo, apart.hi) == near_count_plain(base, here, np.isin(s, (0, 2, 5)))[1:]


def test_wide_domains_and_many_runs_are_counted_alike() -> None:
    """Boxes of groups in several digits, and conditions of more runs than bitmaps are worth."""
    random = np.random.default_rng(3)
    responder = Responder.create(microdata(rows(random, 9_000, 40, wide=5_000)), m=3, seed=3)
    stored = near(responder)
    axis = responder.axes["x"]
    is_row, base, s = stored.flags(stored.everybody), stored.groups.base, stored.values
    line = np.array(axis.line)
    x = line[np.minimum(stored.codes["x"], len(line) - 1)]
    for low in random.integers(0, 4_000, 20).tolist():
        few, many = (x >= low) & (x <= low + 300), np.isin(x, range(low, low + 600, 3))
        for here, condition in (
            (few, f"x BETWEEN {low} AND {low + 300}"),
            (many, f"x IN ({', '.join(map(str, range(low, low + 600, 3)))})"),
        ):
            found = responder.count(f"{condition} AND s IN (1, 2, 9)")
            wanted = np.isin(s, (1, 2, 9))
            assert (found.lo, found.hi) == near_count_plain(base, is_row & here, wanted)[1:]
            assert found.hi > 0


def signatures(responder: Responder) -> list[Counter[int]]:
    stored = near(responder)
    return [Counter(one.tolist()) for one in np.split(stored.values, stored.groups.base[1:-1])]


def signature_of(responder: Responder) -> dict[int, Counter[int]]:
    """Everybody's signature, where x is a number of their own."""
    stored, found = near(responder), signatures(responder)
    groups = stored.group_of()[stored.occupied()].tolist()
    people = columns(responder.table())["x"].to_pylist()
    return {x: found[group] for x, group in zip(people, groups, strict=True)}


@pytest.mark.parametrize("seed", range(10))
def test_signatures_stay_over_random_changes(seed: int) -> None:
    """Who stays keeps the signature, no value ever has more than 1/m, and every count holds."""
    random = np.random.default_rng(seed)
    m = int(random.integers(2, 5))
    numbered = rows(random, 500, 9).set_column(0, "x", pa.array(np.arange(500)))
    responder = Responder.create(microdata(numbered.slice(0, 300)), m=m, seed=seed)
    came = 0
    for step in range(5):
        before = signature_of(responder)
        responder = without_some(responder, random, 20, numbered.slice(300 + 40 * step, 40))
        after = signature_of(responder)
        stayed = before.keys() & after.keys()
        assert len(stayed) == len(before) - 20
        assert all(after[x] == before[x] for x in stayed)
        assert all(max(one.values()) * m <= one.total() for one in after.values())
        came += len(after.keys() - before.keys())
        for low in range(5):
            where = f"x >= {40 * low} AND s <= {low}"
            assert responder.table().count(where).lo in responder.count(where)
        assert responder.count().exact
    assert came  # or nobody's coming was tested


def test_answers_do_not_depend_on_who_has_which_value() -> None:
    """The theorem's exchange: values handed out anew inside groups, no answer changes."""
    random = np.random.default_rng(5)
    responder = Responder.create(microdata(rows(random, 500, 8)), m=4, seed=5)
    stored = near(responder)
    mixed = stored.values.copy()
    for a, b in pairwise(stored.groups.base.tolist()):
        mixed[a:b] = random.permutation(mixed[a:b])
    assert (mixed != stored.values).any()
    sizes = [responder.attributes[name].size for name in "xys"]
    own = {name: column[: len(mixed)] for name, column in stored.codes.items()}
    is_row = stored.flags(stored.everybody)[: len(mixed)]
    other = replace(
        responder, stored=assembled(stored.groups.base, {**own, "s": mixed}, is_row, sizes)
    )
    questions = [f"x = {x} AND s <= {s}" for x in range(6) for s in (0, 3)]
    assert any(responder.table().count(q) != other.table().count(q) for q in questions)
    for question in questions:
        assert responder.count(question) == other.count(question)
        sums = f"SELECT SUM(s), AVG(s) FROM t WHERE {question}"
        assert responder.query(sums).answers == other.query(sums).answers


def test_who_comes_alone_has_a_group_of_m_places() -> None:
    random = np.random.default_rng(6)
    responder = Responder.create(microdata(rows(random, 200, 6)), m=3, seed=6)
    waiting = columns(responder.table()).slice(0, 0)
    came = microdata(pa.table({"x": [40, 41], "y": [0, 0], "s": [1, 1]}))
    change = updated(responder, waiting, came, None, Randomness(1), accept_exposure=True)
    assert (change.update.alone, change.update.counterfeits) == (2, 4)
    for signature in signatures(change.responder)[-2:]:
        assert signature[1] == 1
        assert len(signature) == signature.total() == 3
    found = change.responder.count("x >= 40 AND s = 1")
    assert (found.lo, found.hi) == (0, 2)
    assert change.responder.count("x >= 40").lo == 2
    held = updated(responder, waiting, came, None, Randomness(1))
    assert held.made is None
    assert held.update.lacking == 13  # of a group of 15


def test_newcomers_wait_until_they_are_a_group() -> None:
    """Fewer would let who has learned from others sort them; that their number lacks is public."""
    random = np.random.default_rng(7)
    responder = Responder.create(microdata(rows(random, 200, 6)), m=3, seed=7)
    assert responder.size == 15
    waiting = columns(responder.table()).slice(0, 0)
    for n, comes in ((12, False), (15, True), (18, True)):
        came = microdata(pa.table({"x": range(n), "y": [0] * n, "s": [i % 6 for i in range(n)]}))
        change = updated(responder, waiting, came, None, Randomness(1))
        assert (change.update.inserted, change.update.waiting) == ((n, 0) if comes else (0, n))
        assert change.update.lacking == (0 if comes else 15 - n)


def test_groups_that_empty_out_keep_their_places_until_nobody_is_left() -> None:
    random = np.random.default_rng(8)
    responder = Responder.create(microdata(rows(random, 300, 6, wide=50)), m=3, seed=8)
    base = near(responder).groups.base
    signature = signatures(responder)[0]
    people = columns(responder.table())
    waiting, none = people.slice(0, 0), Randomness(1)
    questions = [f"x BETWEEN {x} AND {x + 9} AND s <= {s}" for x in range(0, 50, 5) for s in (1, 3)]
    own, others = people.slice(0, int(base[1])), people.slice(int(base[1]))
    # equal rows elsewhere could go instead of these
    alike = set(zip(*others.to_pydict().values(), strict=True))
    gone = [row for row in zip(*own.to_pydict().values(), strict=True) if row not in alike]
    assert len(gone) > 5
    for left in (1, 0):
        some = gone if left == 0 else gone[: len(gone) - left]
        away = pa.table(dict(zip(people.column_names, zip(*some, strict=True), strict=True)))
        after = updated(responder, waiting, None, microdata(away), none).responder
        stored = near(after)
        if left or len(gone) < len(own):
            assert signatures(after)[0] == signature
            assert int(stored.groups.base[1]) == int(base[1])
        for question in questions:
            assert after.table().count(question).lo in after.count(question)


def test_a_group_that_nobody_is_left_of_is_not_missed() -> None:
    """Whether it is kept or not, all answers are the same."""
    random = np.random.default_rng(9)
    table = rows(random, 300, 6, wide=50)
    responder = Responder.create(microdata(table), m=3, seed=9)
    stored = near(responder)
    end = int(stored.groups.base[1])
    change = resettled(stored, np.arange(end), nobody(stored), [50, 3, 6])
    assert change.groups.n_groups == stored.groups.n_groups - 1
    is_row = stored.flags(stored.everybody) & (np.arange(len(stored.codes["x"])) >= end)
    after = replace(responder, stored=change)
    for low, s in product(range(0, 50, 7), (0, 2, 4)):
        x = (stored.codes["x"] >= low) & (stored.codes["x"] <= low + 9) & is_row
        expected, lo, hi = near_count_plain(stored.groups.base, x, stored.values <= s)
        codes = responder.axes["x"].line
        found = after.count(f"x BETWEEN {codes[low]} AND {codes[min(low + 9, 49)]} AND s <= {s}")
        assert (found.lo, found.hi) == (lo, hi)
        assert found.estimate == pytest.approx(expected)


def nobody(stored: Neighbourhoods) -> Settled:
    none = {name: column[:0] for name, column in stored.codes.items()}
    return Settled(np.zeros(0, np.int64), none, np.zeros(0, np.bool_))
