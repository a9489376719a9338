"""Direct and Refinement against brute force and against what the paper says of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.join.methods import JoinPartition, merges
from sfumato.algorithms.join.point_location import boxes_around, fall, inside_of
from sfumato.algorithms.join.trim import trimmed
from sfumato.core.boxes import Boxes
from sfumato.core.joined import Joined
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.forms.columns import side_for
from sfumato.models.requirements import requirements
from tests.support.joins import joined_tables, microdata_with_ids
from tests.support.turns import cut_in_turns

Method: TypeAlias = type[sf.Direct] | type[sf.Refinement]
METHODS: list[Method] = [sf.Direct, sf.Refinement]
ALGORITHMS: list[Any] = [
    sf.Mondrian(),
    sf.Mondrian(relaxed=True),
    sf.TopDown(),
    sf.Mondrian(refine=1),
    sf.TopDown(refine=1),
]


def boxes(table: sf.Microdata, partition: Partition) -> Boxes:
    return Boxes(
        tuple(side_for(one, table.codes[one.name], partition, "ranges") for one in table.quasi)
    )


@pytest.mark.slow
@given(joined_tables(), st.integers(2, 5))
def test_a_point_falls_into_a_box_that_covers_it(joined: Joined, n_groups: int) -> None:
    table = joined.microdata
    groups = np.arange(table.n_rows, dtype=np.int32) % min(n_groups, table.n_rows)
    partition = Partition.of(groups)
    points = joined.everyone.quasi_codes()
    found = fall(boxes_around(table, partition), points, Randomness(1))
    drawn = boxes(table, partition)
    for i, point in enumerate(points):
        covering = [
            group
            for group in range(partition.n_groups)
            if all(
                side.covers(point[j : j + 1], np.array([group], np.int32))[0]
                for j, side in enumerate(drawn)
            )
        ]
        assert found[i] in (covering or [-1])


def test_a_point_lies_in_all_boxes_around_it_or_in_as_many_random_ones_as_it_may() -> None:
    table = sf.Microdata.from_arrow(pa.table({"x": [0, 9, 5, 20] * 2}), sf.Schema(quasi=["x"]))
    # boxes [0, 9], [5, 20], [0, 9] and [5, 20]; codes are ranks: 0, 5, 9, 20
    partition = Partition.of(np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32))
    around = boxes_around(table, partition)
    points = np.array([[0], [1], [3]], np.int32)
    inside = inside_of(around, points, Randomness(1).words(3), 4)
    assert inside.starts.tolist() == [0, 2, 4, 6, 8]
    assert inside.points.tolist() == [0, 1, 1, 2, 0, 1, 1, 2]
    many = np.ones((40_000, 1), np.int32)
    inside = inside_of(around, many, Randomness(1).words(len(many)), 2)
    assert np.bincount(inside.points).tolist() == [2] * len(many)
    assert np.all(np.abs(np.diff(inside.starts) - 20_000) < 500)  # five standard deviations
    pairs = np.zeros(len(many), np.int64)
    np.add.at(pairs, inside.points, 1 << np.repeat(np.arange(4), np.diff(inside.starts)))
    assert np.all(np.abs(np.bincount(pairs)[[3, 5, 6, 9, 10, 12]] - 40_000 / 6) < 400)


@dataclass(frozen=True, slots=True)
class Tens:
    """Four rows become two groups that overlap; more are grouped by the tens of their values."""

    name: ClassVar[str] = "tens"
    form: ClassVar[str] = "generalized"

    def partition(self, table: sf.Microdata, *_: Any) -> Partition:
        if table.n_rows == 4:
            return Partition.of(np.array([0, 0, 1, 1], np.int32))
        numbers = table.attributes["x"].positions[table.codes["x"]] // 10
        return Partition.of(np.unique(numbers, return_inverse=True)[1].astype(np.int32))


@pytest.mark.parametrize("last", [60, 160])
@pytest.mark.parametrize("seed", range(5))
def test_whom_one_box_drops_is_there_for_another(last: int, seed: int) -> None:
    """Boxes [0, 100] and [50, last]: people of the fifties are in both, and the first drops them,
    whether it has more people or fewer than the second.
    """
    own = {"id": np.arange(4), "x": [0, 100, 50, last]}
    others = [1, 99, 51, 52, 53, 54, *([last - 1] * (1 if last < 100 else 20))]
    people = {"id": np.arange(4, 4 + len(others)), "x": others}
    joined = sf.join(microdata_with_ids(own, quasi=["x"]), pa.table(people))
    found = sf.Refinement(Tens(), trim=False).partition(joined, 2, (), Randomness(seed))
    values = joined.everyone.attributes["x"].positions[joined.everyone.codes["x"]]
    together = found.partition.groups[values // 10 == 5]
    assert (together == together[0]).all()
    assert together[0] >= 0


def test_of_several_boxes_each_is_as_likely() -> None:
    table = sf.Microdata.from_arrow(pa.table({"x": [0, 9] * 5}), sf.Schema(quasi=["x"]))
    partition = Partition.of(np.repeat(np.arange(5, dtype=np.int32), 2))  # all boxes are [0, 9]
    points = np.zeros((50_000, 1), np.int32)
    found = fall(boxes_around(table, partition), points, Randomness(1))
    assert np.all(np.abs(np.bincount(found) - 10_000) < 500)  # five standard deviations


def found_by(
    method: Method,
    algorithm: Any,
    joined: Joined,
    k: int,
    trim: bool,
) -> JoinPartition:
    return method(algorithm, trim=trim).partition(joined, k, (), Randomness(1))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@given(joined=joined_tables(), k=st.integers(2, 6), trim=st.booleans())
def test_every_group_is_k_join_anonymous(
    method: Method,
    algorithm: Any,
    joined: Joined,
    k: int,
    trim: bool,
) -> None:
    """Definitions 5 and 6: all microdata, some external rows, k together, one of them microdata.

    With k lines at least, one line is a given person's with a chance of 1/k at most (Theorem 2).
    """
    rows = joined.n_inside if method is sf.Refinement else joined.everyone.n_rows
    if rows < k:
        with pytest.raises(Infeasible):
            found_by(method, algorithm, joined, k, trim)
        return
    found = found_by(method, algorithm, joined.merged() if merges(algorithm) else joined, k, trim)
    inside = found.partition.groups[: joined.n_inside]
    assert (inside >= 0).all()
    assert (found.partition.loads(found.joined.weights) >= k).all()
    assert np.array_equal(found.inside, np.bincount(inside, minlength=found.partition.n_groups))
    assert (found.inside >= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "algorithm"),
    list(product(METHODS, [sf.Mondrian(), sf.TopDown()])),
    ids=repr,
)
@given(joined=joined_tables(), k=st.integers(2, 6), trim=st.booleans())
def test_people_who_are_alike_may_be_one_row(
    method: Method, algorithm: Any, joined: Joined, k: int, trim: bool
) -> None:
    """Groups are those of the rows."""
    if joined.n_inside < k:
        return
    rows = found_by(method, algorithm, joined, k, trim)
    few = found_by(method, algorithm, joined.merged(), k, trim)
    people = few.joined.everyone.quasi_codes()
    times = np.where(few.partition.groups >= 0, few.joined.loads, 0)
    alike = np.repeat(np.column_stack([few.partition.groups, people]), times, axis=0)
    kept = rows.partition.groups >= 0
    all_rows = np.column_stack([rows.partition.groups, joined.everyone.quasi_codes()])[kept]
    assert np.array_equal(few.inside, rows.inside)
    assert sorted(map(tuple, alike.tolist())) == sorted(map(tuple, all_rows.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
@given(joined=joined_tables(), k=st.integers(2, 6), trim=st.booleans())
def test_refinement_stays_inside_the_first_round(
    algorithm: Any, joined: Joined, k: int, trim: bool
) -> None:
    """Section 3.2, property 1: the box of every group lies in the box of its sensitive group."""
    if joined.n_inside < k:
        return
    if merges(algorithm):
        joined = joined.merged()
    found = found_by(sf.Refinement, algorithm, joined, k, trim)
    joined = found.joined
    assert found.first is not None
    assert found.sensitive is not None
    first = boxes(joined.microdata, found.first)
    rows, partition = found.partition.kept()
    home = found.sensitive[partition.groups]
    for side in first:
        codes = joined.everyone.codes[side.attribute.name][rows]
        assert side.covers(codes, home).all()
    inside = found.partition.groups[: joined.n_inside]
    assert np.array_equal(found.sensitive[inside], found.first.groups)


@pytest.mark.parametrize("seed", range(20))
def test_refinement_takes_turns_on_from_the_first_round(seed: int) -> None:
    """Against plain recursion: the cuts inside a box go on with the axis that is next in it."""
    random = np.random.default_rng(seed)
    rows = {name: random.integers(0, 30, 200) for name in "xyz"}
    everyone = {"id": np.arange(200), **rows}
    own = {name: column[:24] for name, column in everyone.items()}
    joined = sf.join(microdata_with_ids(own, quasi=["x", "y", "z"]), pa.table(everyone))
    k = 5
    algorithm = sf.Mondrian(choose="round-robin")
    found = found_by(sf.Refinement, algorithm, joined, k, trim=False).partition
    codes = joined.everyone.quasi_codes()
    people = [tuple(row) for row in codes.tolist()]
    expected, restarted = set(), set()
    for first, turn in cut_in_turns(people, range(24), 0, k):
        box = np.array([people[row] for row in first])
        low, high = box.min(axis=0), box.max(axis=0)
        within = ((codes >= low) & (codes <= high)).all(axis=1)
        inside = [row for row in np.flatnonzero(within).tolist() if row in first or row >= 24]
        expected |= {group for group, _ in cut_in_turns(people, inside, turn, k)}
        restarted |= {group for group, _ in cut_in_turns(people, inside, 0, k)}
    kept = {frozenset(np.flatnonzero(found.groups == g).tolist()) for g in range(found.n_groups)}
    assert kept == {group for group in expected if min(group) < 24}
    assert kept != {group for group in restarted if min(group) < 24}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(joined=joined_tables(), k=st.integers(2, 4))
def test_trimming_never_widens_a_box_and_stops_for_a_reason(
    method: Method, joined: Joined, k: int
) -> None:
    if joined.n_inside < k:
        return
    whole = found_by(method, sf.Mondrian(), joined, k, trim=False)
    less = found_by(method, sf.Mondrian(), joined, k, trim=True)
    assert less.partition.n_groups == whole.partition.n_groups
    kept = less.partition.groups
    assert np.array_equal(kept[kept >= 0], whole.partition.groups[kept >= 0])
    for group in range(less.partition.n_groups):
        rows = np.flatnonzero(kept == group)
        if len(rows) == k:
            continue
        # more than k are left: no face can go without a row of the microdata or too many rows
        for attribute in joined.everyone.quasi:
            codes = joined.everyone.codes[attribute.name][rows]
            present = np.unique(codes)
            ends = present[[0, -1]] if attribute.ordered else present
            for code in ends if len(present) > 1 else ():
                on_face = rows[codes == code]
                assert joined.inside[on_face].any() or len(rows) - len(on_face) < k


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 3))
def test_trimming_is_close_to_the_smallest_box(seed: int, n: int, k: int) -> None:
    """Along one attribute the greedy choice is compared with all ranges there are."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 30, n)
    inside = np.zeros(n, np.bool_)
    inside[random.integers(n)] = True
    table = sf.Microdata.from_arrow(pa.table({"x": values}), sf.Schema(quasi=["x"]))
    less = trimmed(table, np.zeros(n, np.int32), inside, np.ones(n, np.int64), min(k, n))
    kept = values[less != LEFT_OUT]
    possible = [
        high - low
        for low, high in product(np.unique(values), repeat=2)
        if low <= values[inside].min()
        and values[inside].max() <= high
        and ((values >= low) & (values <= high)).sum() >= min(k, n)
    ]
    best = min(possible)
    assert inside[less != LEFT_OUT].sum() == inside.sum()
    assert best <= kept.max() - kept.min() <= np.ptp(values)


def test_sensitive_models_hold_in_the_first_round() -> None:
    random = np.random.default_rng(3)
    n = 200
    own = pa.table(
        {
            "id": np.arange(n),
            "x": random.integers(0, 50, n),
            "s": pa.array(random.choice(list("abc"), n), pa.string()),
        }
    )
    others = pa.table({"id": np.arange(n, 10 * n), "x": random.integers(0, 50, 9 * n)})
    schema = sf.Schema(identifiers=["id"], quasi=["x"], sensitive="s")
    joined = sf.join(sf.Microdata.from_arrow(own, schema, id="id"), others)
    needs = requirements(sf.DistinctLDiversity(3), schema)
    found = sf.Refinement(sf.Mondrian()).partition(joined, 5, needs, Randomness(1))
    assert found.first is not None
    values = joined.microdata.codes["s"]
    for group in range(found.first.n_groups):
        assert len(set(values[found.first.groups == group])) == 3
    assert found.partition.n_groups > found.first.n_groups
    with pytest.raises(ParameterError, match="use Refinement"):
        sf.Direct(sf.Mondrian()).partition(joined, 5, needs, Randomness(1))


@pytest.mark.parametrize("algorithm", [sf.Anatomize(), sf.FullDomain()], ids=repr)
@pytest.mark.parametrize("method", METHODS)
def test_an_algorithm_without_boxes_of_its_own_is_refused(method: Method, algorithm: Any) -> None:
    own = pa.table({"id": [1, 2], "x": [1, 2]})
    table = sf.Microdata.from_arrow(own, sf.Schema(identifiers=["id"], quasi=["x"]), id="id")
    with pytest.raises(ParameterError, match="use Mondrian or TopDown"):
        method(algorithm).partition(sf.join(table, own), 2, (), Randomness(1))


def test_a_frontier_is_refused_where_its_groups_would_be_told() -> None:
    """Under sizes alone nobody is passed over, so there is nothing to tell."""
    random = np.random.default_rng(1)
    everyone = pa.table({"id": range(300), "age": random.integers(20, 60, 300)})
    ills = pa.array(random.choice(list("abcd"), 100))
    schema = sf.Schema(identifiers=["id"], quasi=["age"], sensitive="ill")
    table = sf.read(everyone.slice(0, 100).append_column("ill", ills), schema, id="id")
    method, sizes = sf.Refinement(sf.Frontier()), sf.KJoinAnonymity(5)
    with pytest.raises(ParameterError, match=r"told for more of them .*use Mondrian or TopDown"):
        sf.publish_join(table, everyone, method, sizes & sf.LDiversity(2))
    assert sf.publish_join(table, everyone, method, sizes).joined.num_rows >= 100
