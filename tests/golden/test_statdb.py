"""Dynamic anonymization: what the paper prints about Table 1a and Figure 1."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.forms.perturbed.release import Retention
from sfumato.statdb import Responder
from sfumato.statdb.layout.making import Framework
from tests.support.releases import anatomized, generalized
from tests.support.statdb import buckets_of
from tests.support.tables import attribute, microdata, partition

NAMES = ["Alice", "Bob", "David", "Helen", "Jack", "Ken", "Linda", "Mary", "Paul", "Ray", "Tom"]
AGES = [20, 23, 38, 42, 46, 48, 49, 52, 53, 59, 61]
ZIPS = [12000, 58000, 41000, 23000, 25000, 13000, 51000, 52000, 49000, 61000, 39000]
DISEASES = [
    "flu", "gastritis", "flu", "gastritis", "flu", "gastritis",
    "flu", "insomnia", "gastritis", "flu", "gastritis",
]  # fmt: skip
TABLE_1B = ["Alice Bob", "David Helen", "Jack Ken", "Linda Mary Paul", "Ray Tom"]
Q1 = "age BETWEEN 30 AND 50 AND disease = 'flu'"
Q2 = "zip BETWEEN 20000 AND 40000 AND disease = 'flu'"
Q3 = "age BETWEEN 40 AND 60 AND zip BETWEEN 20000 AND 60000 AND disease = 'flu'"


def people() -> sf.Microdata:
    columns = {"name": NAMES, "age": AGES, "zip": ZIPS, "disease": DISEASES}
    return microdata(columns, quasi=["age", "zip"], sensitive=["disease"], identifiers=["name"])


def groups() -> list[int]:
    return [next(g for g, names in enumerate(TABLE_1B) if name in names.split()) for name in NAMES]


def responder(cohort: int | None = None, framework: Framework = "anatomy") -> Responder:
    first = partition(groups())
    return Responder.create(people(), m=2, cohort=cohort, framework=framework, first=first)


def names_of(database: Responder) -> list[str]:
    """Who the stored rows are; ages tell."""
    ages = database.table().attributes["age"].decode(database.table().codes["age"]).to_pylist()
    return [NAMES[AGES.index(age)] for age in ages]


def test_figure_1() -> None:
    buckets = buckets_of(responder())
    domain = ["flu", "gastritis", "insomnia"]
    found = {
        tuple(domain[code] for code in buckets.signature(b)): int(buckets.groups[b])
        for b in range(buckets.n_buckets)
    }
    assert found == {("flu", "gastritis"): 4, ("flu", "gastritis", "insomnia"): 1}
    shown = names_of(responder())
    whole = responder().version().groups
    assert len(shown) == 11
    alone = next(g for g in range(5) if (whole == g).sum() == 3)
    assert {shown[row] for row in np.flatnonzero(whole == alone)} == {"Linda", "Mary", "Paul"}


def test_example_1_a_decompose() -> None:
    """One group has two rows of S_1 = {Helen, Jack, Tom}, and one has the third."""
    database = responder()
    version, shown = database.version(Q2), names_of(database)
    inside = [shown[row] in ("Helen", "Jack", "Tom") for row in range(11)]
    assert sorted(np.bincount(version.groups, inside).tolist()) == [0, 0, 0, 1, 2]


def test_example_2_a_count() -> None:
    found = responder().count(Q2)
    assert (found.lo, found.hi) == (1, 2)


def test_example_3_g_count() -> None:
    """B_1 gives [1, 2]; Linda, Mary and Paul lie inside and give one more."""
    found = responder(framework="generalization").count(Q3)
    assert (found.lo, found.hi) == (2, 3)


@pytest.mark.parametrize("question", [Q1, Q2, Q3])
def test_one_group_to_a_cohort_is_the_static_database(question: str) -> None:
    still = anatomized(people(), groups()).count(question)
    found = responder(cohort=1).count(question)
    assert (found.lo, found.hi) == (still.lo, still.hi)
    assert found.estimate == pytest.approx(still.estimate)
    boxes = generalized(people(), groups()).count(question)
    found = responder(cohort=1, framework="generalization").count(question)
    assert (found.lo, found.hi) == (boxes.lo, boxes.hi)


def test_static_answers_printed_in_the_introduction() -> None:
    static = responder(cohort=1, framework="generalization")
    assert [(static.count(q).lo, static.count(q).hi) for q in (Q1, Q2)] == [(2, 3), (0, 4)]
    table_2 = partition([0, 4, 2, 1, 1, 0, 3, 3, 3, 4, 2])
    other = Responder.create(people(), m=2, cohort=1, framework="generalization", first=table_2)
    assert [(other.count(q).lo, other.count(q).hi) for q in (Q1, Q2)] == [(1, 5), (1, 2)]


def test_dynamic_answers_do_as_well_as_the_better_of_both_tables() -> None:
    dynamic = responder(framework="generalization")
    assert [(dynamic.count(q).lo, dynamic.count(q).hi) for q in (Q1, Q2)] == [(2, 3), (1, 2)]


def test_formula_10() -> None:
    kept = Retention.keeping(attribute(50), None, 10)
    assert kept.p == pytest.approx(4 / 49)
