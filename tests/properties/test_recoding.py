"""Global recoding against a search through everything, in plain Python."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.recoding import full_domain, large_lattice
from sfumato.algorithms.recoding.full_domain import FullDomain, Solution
from sfumato.algorithms.recoding.judge import Cost
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.core.arrays import Flags
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Side
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import LEFT_OUT, Partition
from sfumato.core.randomness import Randomness
from sfumato.core.taxonomy import Taxonomy
from sfumato.metrics.information_loss import discernibility, ncp
from sfumato.models.anonymity import KAnonymity
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.requirements import Requirement
from tests.support.models import NobodyAlone, needs_of, passing
from tests.support.oracles import ancestors, height, lowest_common_ancestor
from tests.support.strategies import nested_trees
from tests.support.tables import microdata


@dataclass(frozen=True)
class Odd:
    """A model that merging breaks: two groups of odd size are one of even size."""

    def passes(self, groups: Histograms) -> Flags:
        return np.asarray(groups.sizes % 2 == 1)


@dataclass(frozen=True)
class NoPairs:
    """Another: two single rows are safe, together they are not."""

    def passes(self, groups: Histograms) -> Flags:
        return np.asarray(groups.sizes != 2)


MODELS: tuple[Any, ...] = (
    KAnonymity(2),
    KAnonymity(4),
    LDiversity(1.5),
    LDiversity(2),
    DistinctLDiversity(2),
    KAnonymity(3) & DistinctLDiversity(2),
    EntropyLDiversity(1.7),
    RecursiveLDiversity(2.0, 2),
    TCloseness(0.3),
    KAnonymity(2) & TCloseness(0.2),
    NobodyAlone(),
    Odd(),
    NoPairs(),
)


@st.composite
def recodable(draw: st.DrawFn, max_quasi: int = 3) -> Microdata:
    """Quasi-identifiers with trees of any shape or none, some values missing."""
    n = draw(st.integers(1, 16))
    columns: dict[str, list[Any]] = {}
    trees: dict[str, Taxonomy] = {}
    for name in "abcd"[: draw(st.integers(1, max_quasi))]:
        leaves: Sequence[Any] = ("x", "y", "z")
        if draw(st.booleans()):
            trees[name] = Taxonomy.from_nested(draw(nested_trees()))
            leaves = trees[name].leaves
        values = st.sampled_from(leaves)
        if draw(st.booleans()):
            values = st.none() | values
        columns[name] = draw(st.lists(values, min_size=n, max_size=n).filter(any))
    columns["s"] = draw(st.lists(st.sampled_from("uvw"), min_size=n, max_size=n))
    return microdata(columns, sensitive=["s"], taxonomies=trees)


@given(
    recodable(),
    st.sampled_from(MODELS),
    st.sampled_from([0.0, 0.1, 0.3, 0.7]),
    st.sampled_from(["ncp", "discernibility"]),
)
@settings(max_examples=200, deadline=None)
def test_full_domain_is_the_best_of_all_level_vectors(
    table: Microdata, model: Any, suppress: float, cost: Cost
) -> None:
    needs = needs_of(model, table)
    if not feasible(needs, table):
        return
    algorithm = FullDomain(suppress=suppress, cost=cost)
    found = algorithm.solve(table, needs)
    best = min(cost for _, cost in exhaustive(table, needs, suppress, cost))
    assert found.cost == pytest.approx(best, abs=1e-12)
    assert found.optimal
    assert found.visited <= 2 * found.level_vectors
    require_costs(algorithm.partition(table, needs, Randomness(1)), found, table, needs, suppress)


@given(recodable(), st.sampled_from([Odd(), NoPairs()]))
@settings(max_examples=150, deadline=None)
def test_a_model_that_merging_breaks_is_searched_as_well(table: Microdata, model: Any) -> None:
    """Under such a model nothing follows from a failure for finer vectors."""
    needs = needs_of(model, table)
    if feasible(needs, table):
        found = FullDomain().solve(table, needs)
        best = min(cost for _, cost in exhaustive(table, needs, 0.0, "ncp"))
        assert found.cost == pytest.approx(best, abs=1e-12)


@given(recodable(max_quasi=4), st.sampled_from(MODELS), st.sampled_from([0.0, 0.3]))
@settings(max_examples=80, deadline=None)
def test_a_large_lattice_gives_a_vector_and_a_bound(
    table: Microdata, model: Any, suppress: float
) -> None:
    needs = needs_of(model, table)
    if not feasible(needs, table):
        return
    for cost in ("ncp", "discernibility"):
        algorithm = FullDomain(suppress=suppress, cost=cost)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(full_domain, "_SEARCHED", 1)
            patch.setattr(large_lattice, "_BLOCK", 6)
            found = algorithm.solve(table, needs)
        costs = dict(exhaustive(table, needs, suppress, cost))
        best = min(costs.values())
        assert found.cost == pytest.approx(costs[tuple(found.levels.values())], abs=1e-12)
        assert found.bound <= best + 1e-12
        assert found.optimal <= (found.cost <= best + 1e-12)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_with_qids_the_model_holds_on_each_of_them(data: st.DataObject) -> None:
    table = data.draw(recodable())
    model = data.draw(st.sampled_from(MODELS))
    columns = st.lists(st.sampled_from(table.schema.quasi), min_size=1, unique=True)
    qids = data.draw(st.lists(columns, min_size=1, max_size=2))
    named = {name for qid in qids for name in qid}
    qids += [[name] for name in table.schema.quasi if name not in named]
    needs = needs_of(model, table)
    if not feasible(needs, table):
        return
    found = FullDomain(qids=qids).solve(table, needs)
    best = min(cost for _, cost in exhaustive(table, needs, 0.0, "ncp", qids))
    assert found.cost == pytest.approx(best, abs=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_domain, "_SEARCHED", 1)
        assert FullDomain(qids=qids).solve(table, needs).bound <= best + 1e-12


@given(
    recodable(),
    st.sampled_from(MODELS),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([Subtree, Sibling]),
)
@settings(max_examples=150, deadline=None)
def test_a_cut_is_the_same_everywhere_and_no_step_is_left(
    table: Microdata, model: Any, suppress: float, scheme: type[Subtree | Sibling]
) -> None:
    needs = needs_of(model, table)
    if not feasible(needs, table):
        return
    found = scheme(suppress).partition(table, needs, Randomness(1))
    require_safe(found, table, needs, suppress)
    shown = {side.attribute.name: seen(side, table, found) for side in found.boxes or ()}
    cost = costs(shown, np.flatnonzero(found.groups < 0).tolist(), "ncp")
    finer = steps(shown, table, scheme is Sibling) if not suppress else []
    for step in finer:
        rows = failing(step, table.schema.quasi, table, needs)
        assert rows or costs(step, rows, "ncp") > cost


def seen(side: Side, table: Microdata, found: Partition) -> list[tuple[Any, float]]:
    """What is shown of every row, as the set of codes it may have, and its penalty."""
    codes = table.codes[side.attribute.name]
    domain = np.arange(side.attribute.size, dtype=np.int32)
    sets: dict[int, tuple[Any, float]] = {LEFT_OUT: (None, 1.0)}
    for group, penalty in enumerate(side.penalties()):
        covered = side.covers(domain, np.full(len(domain), group, np.int32))
        sets[group] = tuple(domain[covered].tolist()), float(penalty)
    of_rows = [sets[group] for group in found.groups.tolist()]
    known = {code: shown for code, shown in zip(codes.tolist(), of_rows, strict=True) if shown[0]}
    for one, other in itertools.combinations(set(known.values()), 2):
        assert not set(one[0]) & set(other[0])
    return [known.get(code, (None, 1.0)) for code in codes.tolist()]


def steps(
    shown: Mapping[str, list[tuple[Any, float]]], table: Microdata, one_by_one: bool
) -> Iterator[dict[str, list[tuple[Any, float]]]]:
    """Every way to divide one class of codes along its attribute's tree."""
    for attribute in table.quasi:
        codes = table.codes[attribute.name].tolist()
        for whole in {cells for cells, _ in shown[attribute.name]}:
            children = children_of(attribute, whole)
            parts = [children]
            if one_by_one:  # values that nobody has stay with their node
                parts = [[child] for child in children if child & set(codes)]
            for taken in parts if len(children) > 1 else []:
                yield {
                    **shown,
                    attribute.name: [
                        divided(attribute, old, code, taken) if old[0] == whole else old
                        for old, code in zip(shown[attribute.name], codes, strict=True)
                    ],
                }


def divided(
    attribute: Attribute, old: tuple[Any, float], code: int, taken: Sequence[frozenset[int]]
) -> tuple[Any, float]:
    """What is shown of a code after some children were taken out of its class."""
    rest = frozenset(old[0]).difference(*taken)
    part = next((child for child in taken if code in child), rest)
    return tuple(sorted(part)), (len(part) - 1) / max(1, attribute.size - 1)


def children_of(attribute: Attribute, codes: tuple[int, ...]) -> list[frozenset[int]]:
    """What a class of codes falls into below its lowest common ancestor."""
    tree = attribute.taxonomy
    if tree is None or (attribute.missing_code in codes and len(codes) == 1):
        return [frozenset([code]) for code in codes]
    known = [code for code in codes if code != attribute.missing_code]
    paths = {code: ancestors(tree, int(tree.leaf_nodes[code])) for code in known}
    if attribute.missing_code in codes:
        top = 0
    else:
        top = lowest_common_ancestor(tree, known)
    below: dict[Any, set[int]] = {}
    for code in codes:
        path = paths.get(code, [-1, top])
        below.setdefault(path[max(0, path.index(top) - 1)], set()).add(code)
    return [frozenset(child) for child in below.values()]


def require_costs(
    partition: Partition,
    found: Solution,
    table: Microdata,
    needs: tuple[Requirement, ...],
    suppress: float,
) -> None:
    """The partition is what the solution says, and safe."""
    require_safe(partition, table, needs, suppress)
    assert partition.boxes is not None
    left_out = partition.n_left_out
    costs = (
        ncp(partition.boxes, partition.sizes, left_out),
        discernibility(partition) + left_out * table.n_rows,
    )
    assert any(found.cost == pytest.approx(cost, abs=1e-12) for cost in costs)


def require_safe(
    partition: Partition, table: Microdata, needs: tuple[Requirement, ...], suppress: float
) -> None:
    """All groups pass, rows lie in their boxes, and not too many are left out."""
    assert partition.boxes is not None
    assert partition.n_left_out <= suppress * table.n_rows + 1e-9
    rows, kept = partition.kept()
    assert passing(needs, table.take(rows), kept).all()
    for side in partition.boxes:
        codes = table.codes[side.attribute.name][rows]
        assert side.covers(codes, kept.groups).all()


def feasible(needs: tuple[Requirement, ...], table: Microdata) -> bool:
    return bool(passing(needs, table, Partition.of(np.zeros(table.n_rows, np.int32))).all())


def exhaustive(
    table: Microdata,
    needs: tuple[Requirement, ...],
    suppress: float,
    cost: Cost,
    qids: Sequence[Sequence[str]] = (),
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every level vector that is allowed, with its cost."""
    ladders = [list(ladder(attribute)) for attribute in table.quasi]
    for levels in itertools.product(*(range(len(each)) for each in ladders)):
        shown = {
            attribute.name: [each[level][code] for code in table.codes[attribute.name].tolist()]
            for attribute, each, level in zip(table.quasi, ladders, levels, strict=True)
        }
        if all(not failing(shown, qid, table, needs) for qid in qids):
            rows = () if qids else failing(shown, table.schema.quasi, table, needs)
            if len(rows) <= suppress * table.n_rows + 1e-9 and len(rows) < table.n_rows:
                yield levels, costs(shown, rows, cost)


def ladder(attribute: Attribute) -> Iterator[list[tuple[Any, float]]]:
    """Per level and code, what is shown instead and its penalty."""
    tree = attribute.taxonomy
    missing = [(None, 0.0)] * attribute.has_missing
    if tree is None:
        yield [(code, 0.0) for code in range(attribute.missing_code)] + missing
        yield [("*", 1.0)] * attribute.size
        return
    paths = [ancestors(tree, int(node)) for node in tree.leaf_nodes]
    under = [sum(node in path for path in paths) for node in range(len(tree.labels))]
    for level in range(max(1, height(tree, 0))):
        nodes = [[node for node in path if height(tree, node) <= level][-1] for path in paths]
        yield [(node, (under[node] - 1) / max(1, len(paths) - 1)) for node in nodes] + missing
    all_of_it = 1.0 if len(paths) > 1 or attribute.has_missing else 0.0
    yield [("*", all_of_it)] * attribute.size


def failing(
    shown: Mapping[str, list[tuple[Any, float]]],
    names: Sequence[str],
    table: Microdata,
    needs: tuple[Requirement, ...],
) -> tuple[int, ...]:
    """Rows in groups that fail, taken away until all that are left pass among themselves."""
    kept = list(range(table.n_rows))
    while kept:
        keys = [tuple(shown[name][row][0] for name in names) for row in kept]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        groups = Partition.of(np.array([numbers[key] for key in keys], np.int32))
        verdict = passing(needs, table.take(np.array(kept)), groups)
        if verdict.all():
            break
        kept = [
            row for row, group in zip(kept, groups.groups.tolist(), strict=True) if verdict[group]
        ]
    return tuple(row for row in range(table.n_rows) if row not in kept)


def costs(
    shown: Mapping[str, list[tuple[Any, float]]], left_out: Sequence[int], cost: Cost
) -> float:
    columns = list(shown.values())
    n = len(columns[0])
    kept = [row for row in range(n) if row not in left_out]
    if cost == "ncp":
        penalties = sum(column[row][1] for column in columns for row in kept)
        return (penalties + len(left_out) * len(columns)) / (n * len(columns))
    keys = [tuple(column[row][0] for column in columns) for row in kept]
    return sum(keys.count(key) for key in keys) + n * len(left_out)
