"""The example of the slides, from the words that describe it.

Table (a) is not printed. What the text says of it: Doug, a male lawyer of 38, has HIV; all female
dancers of 30 do; generalized, there are two groups, of which one has entropy l = 1.9 (three rows,
two of one disease) and the other 1.8 (four rows, three of one disease).
"""

from typing import Any

import pytest

import sfumato as sf
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.core.taxonomy import Taxonomy
from sfumato.models.requirements import requirements
from tests.support.tables import microdata

PATIENTS: dict[str, list[Any]] = {
    "job": ["Engineer", "Engineer", "Lawyer", "Writer", "Writer", "Dancer", "Dancer"],
    "sex": ["Male", "Male", "Male", "Female", "Female", "Female", "Female"],
    "age": [35, 38, 38, 30, 30, 30, 30],
    "disease": ["Hepatitis", "Hepatitis", "HIV", "Flu", "HIV", "HIV", "HIV"],
}
TREES: dict[str, Any] = {
    "job": {"ANY": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}},
    "sex": {"ANY": ["Male", "Female"]},
    "age": {"[30-40)": {"[30-35)": list(range(30, 35)), "[35-40)": list(range(35, 40))}},
}


def patients() -> sf.Microdata:
    trees = {name: Taxonomy.from_nested(tree) for name, tree in TREES.items()}
    return microdata(PATIENTS, sensitive=["disease"], taxonomies=trees)


def shown(release: Any) -> set[tuple[str, ...]]:
    return {tuple(row[name] for name in TREES) for row in release.table.to_pylist()}


def test_the_three_anonymous_table() -> None:
    release = sf.publish(patients(), FullDomain(), sf.KAnonymity(3), seed=1)
    assert shown(release) == {("Professional", "Male", "[35-40)"), ("Artist", "Female", "[30-35)")}
    assert sorted(release.metrics["group_sizes"]["histogram"].items()) == [("3", 1), ("4", 1)]


def test_its_entropy_allows_l_up_to_1_8() -> None:
    table = patients()
    diverse = sf.KAnonymity(3) & sf.EntropyLDiversity(1.75)
    levels = FullDomain().solve(table, requirements(diverse, table.schema)).levels
    assert levels == {"job": 1, "sex": 0, "age": 1}
    more = sf.KAnonymity(3) & sf.EntropyLDiversity(1.8)
    levels = FullDomain().solve(table, requirements(more, table.schema)).levels
    assert levels != {"job": 1, "sex": 0, "age": 1}


def test_full_domain_moves_all_values_of_a_level_together() -> None:
    """ "If Lawyer and Engineer become Professional, Dancer and Writer must become Artist"."""
    release = sf.publish(many_artists(), FullDomain(), sf.KAnonymity(3), seed=1)
    assert {row["job"] for row in release.table.to_pylist()} == {"Professional", "Artist"}


def test_subtree_moves_the_children_of_a_node_together() -> None:
    """ "Dancer and Writer, child nodes of Artist, can remain ungeneralized"."""
    release = sf.publish(many_artists(), Subtree(), sf.KAnonymity(3), seed=1)
    assert {row["job"] for row in release.table.to_pylist()} == {
        "Professional",
        "Dancer",
        "Writer",
    }


def test_siblings_may_remain() -> None:
    """A parent then represents the children that are missing: "Professional" except Lawyer."""
    jobs = ["Lawyer"] * 3 + ["Engineer"] * 2 + ["Surgeon"] * 1 + ["Dancer"] * 3 + ["Writer"] * 3
    tree = {
        "ANY": {"Professional": ["Engineer", "Lawyer", "Surgeon"], "Artist": ["Dancer", "Writer"]}
    }
    table = microdata({"job": jobs}, taxonomies={"job": Taxonomy.from_nested(tree)})
    release = sf.publish(table, Sibling(), sf.KAnonymity(3), seed=1)
    assert {tuple(row["job"]) for row in release.table.to_pylist()} == {
        ("Lawyer",),
        ("Engineer", "Surgeon"),
        ("Dancer",),
        ("Writer",),
    }


def many_artists() -> sf.Microdata:
    jobs = ["Lawyer"] * 2 + ["Engineer"] * 1 + ["Dancer"] * 3 + ["Writer"] * 3
    return microdata({"job": jobs}, taxonomies={"job": Taxonomy.from_nested(TREES["job"])})


def test_k_anonymity_on_two_qids_asks_for_less_than_on_their_union() -> None:
    """T(A, B, C, D): each record is hidden by (A, B) and by (C, D), in groups of their own."""
    table = microdata(
        {"a": list("xxyy") * 2, "b": list("uuvv") * 2, "c": list("pqpq") * 2, "d": list("mnmn") * 2}
    )
    needs = requirements(sf.KAnonymity(4), table.schema)
    assert FullDomain(qids=[["a", "b"], ["c", "d"]]).solve(table, needs).cost == 0
    assert FullDomain().solve(table, needs).cost == pytest.approx(0.5)
