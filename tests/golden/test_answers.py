"""Questions that the papers answer in print."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.forms.manifest import PublishedColumn
from tests.support.releases import anatomized, generalized, of_rows
from tests.support.tables import PATIENTS, microdata

# Dynamic anonymization, Table 1a.
NAMES = ["Alice", "Bob", "David", "Helen", "Jack", "Ken", "Linda", "Mary", "Paul", "Ray", "Tom"]
PEOPLE = {
    "name": NAMES,
    "age": [20, 23, 38, 42, 46, 48, 49, 52, 53, 59, 61],
    "zip": [12000, 58000, 41000, 23000, 25000, 13000, 51000, 52000, 49000, 61000, 39000],
    "disease": [
        "flu", "gastritis", "flu", "gastritis", "flu", "gastritis",
        "flu", "insomnia", "gastritis", "flu", "gastritis",
    ],
}  # fmt: skip
Q1 = "age BETWEEN 30 AND 50 AND disease = 'flu'"
Q2 = "zip BETWEEN 20000 AND 40000 AND disease = 'flu'"
# The partitions behind Table 1b and Table 2, as sets of names.
TABLE_1B = ["Alice Bob", "David Helen", "Jack Ken", "Linda Mary Paul", "Ray Tom"]
TABLE_2 = ["Alice Ken", "Jack Helen", "David Tom", "Linda Mary Paul", "Ray Bob"]


def people() -> sf.Microdata:
    return microdata(PEOPLE, quasi=["age", "zip"], sensitive=["disease"], identifiers=["name"])


def groups(partition: list[str]) -> list[int]:
    return [next(g for g, names in enumerate(partition) if name in names.split()) for name in NAMES]


@pytest.mark.parametrize(
    ("partition", "question", "lo", "hi"),
    [(TABLE_1B, Q1, 2, 3), (TABLE_2, Q1, 1, 5), (TABLE_1B, Q2, 0, 4), (TABLE_2, Q2, 1, 2)],
)
def test_result_intervals_of_generalizations(
    partition: list[str], question: str, lo: int, hi: int
) -> None:
    release = generalized(people(), groups(partition))
    found = release.count(question)
    assert people().count(question).estimate in found
    assert (found.lo, found.hi) == (lo, hi)


def test_the_group_of_linda_in_lemma_3() -> None:
    """q = 1 and s = 1 of 3 rows: between 0 and 1. David's and Jack's groups count 1 each."""
    found = anatomized(people(), groups(TABLE_1B)).count(Q1)
    assert (found.lo, found.hi) == (2, 3)
    assert found.estimate == pytest.approx(1 + 1 + 1 / 3)


# Mondrian, Figure 8: ranges with means.
FIGURE_8 = [0, 1, 0, 2, 1, 2]


def test_the_queries_of_figure_8() -> None:
    table = microdata(PATIENTS, sensitive=["disease"])
    release = generalized(table, FIGURE_8, means=["age"])
    averages = release.query("SELECT AVG(age), SUM(age) FROM patients WHERE sex = 'Male'").answers[
        0
    ]
    assert [found.exact for found in averages] == [True, True]
    assert averages[0].estimate == 26.5
    assert averages[1] == sf.Answer(106.0, 106, 106)
    counted = release.query("SELECT COUNT(*) FROM patients WHERE sex = 'Male' AND age <= 26").answer
    assert counted == sf.Answer(2.0, 2, 2)


def test_the_range_statistic_gives_minima_and_maxima() -> None:
    table = microdata(PATIENTS, sensitive=["disease"])
    found = generalized(table, FIGURE_8).query(
        "SELECT MIN(age), MAX(age), AVG(age) FROM t WHERE sex = 'Male'"
    )
    youngest, oldest, average = found.answers[0]
    assert (youngest.lo, youngest.hi) == (25, 25)
    assert (oldest.lo, oldest.hi) == (28, 28)
    assert (average.lo, average.hi) == (26.0, 27.0)


def test_figure_2_cannot_answer_the_second_query_precisely() -> None:
    """Single-dimensional recoding: one range of ages for everybody."""
    rows = pa.table(
        {
            "age_min": [25] * 6,
            "age_max": [28] * 6,
            "sex": [[sex] for sex in PATIENTS["sex"]],
            "disease": PATIENTS["disease"],
        }
    )
    columns = (
        PublishedColumn("age", "quasi", "range", ("age_min", "age_max"), "numerical"),
        PublishedColumn("sex", "quasi", "set", ("sex",), "categorical"),
        PublishedColumn("disease", "sensitive", "value", ("disease",), "categorical"),
    )
    found = of_rows(rows, columns).count("sex = 'Male' AND age <= 26")
    assert (found.lo, found.hi) == (0, 4)
    matched = sf.matching(
        generalized(microdata(PATIENTS, sensitive=["disease"]), FIGURE_8),
        ["SELECT COUNT(*) FROM t WHERE sex = 'Male' AND age <= 26"],
    )
    assert matched.share == 1.0
