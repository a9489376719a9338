"""Tables 1 to 5 of the Anatomy paper, and the theorems that are exact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms.base import Progress
from sfumato.audits.breach import (
    belief,
    individual_breach,
    partition_breach,
    row_breach,
    uncertain_belief,
)
from sfumato.core.boxes import Ranges
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible
from sfumato.forms.registry import Release
from sfumato.metrics.reconstruction import (
    generalized_reconstruction_error,
    least_reconstruction_error,
    reconstruction_error,
)
from sfumato.models.requirements import Requirement

AGES = [23, 27, 35, 59, 61, 65, 65, 70]
ZIPCODES = [11000, 13000, 59000, 12000, 54000, 25000, 25000, 30000]
DISEASES = ["pneumonia", "dyspepsia", "dyspepsia", "pneumonia",
            "flu", "gastritis", "flu", "bronchitis"]  # fmt: skip
TABLE_1 = pa.table({"Age": AGES, "Sex": list("MMMMFFFF"), "Zipcode": ZIPCODES, "Disease": DISEASES})
SCHEMA = sf.Schema(quasi=["Age", "Sex", "Zipcode"], sensitive="Disease")
TABLE_5 = pa.table(
    {
        "Name": ["Ada", "Alice", "Bella", "Emily", "Stephanie"],
        "Age": [61, 65, 65, 67, 70],
        "Sex": ["F", "F", "F", "F", "F"],
        "Zipcode": [54000, 25000, 25000, 33000, 30000],
    }
)
BOB = {"Age": 23, "Sex": "M", "Zipcode": 11000}
ALICE = {"Age": 65, "Sex": "F", "Zipcode": 25000}


@dataclass(frozen=True, slots=True)
class AsPrinted:
    """The groups of Tables 2 and 3: tuples 1-4 and 5-8."""

    name: ClassVar[str] = "as-printed"
    form: ClassVar[str] = "generalized"

    def partition(
        self,
        table: sf.Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        return Partition.of(np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32))


def patients() -> sf.Microdata:
    return sf.Microdata.from_arrow(TABLE_1, SCHEMA)


def table_2() -> sf.GeneralizedTable:
    return sf.publish(patients(), AsPrinted(), sf.LDiversity(2), form="generalized")


def table_3() -> sf.AnatomizedTables:
    return sf.publish(patients(), AsPrinted(), sf.LDiversity(2), form="anatomized")


def published(form: str) -> Release:
    return table_2() if form == "generalized" else table_3()


FORMS = pytest.mark.parametrize("form", ["generalized", "anatomized"])


def test_table_2_keeps_diseases_by_group() -> None:
    by_box: dict[Any, Counter[str]] = {}
    for row in table_2().table.to_pylist():
        by_box.setdefault((row["Age_min"], row["Age_max"]), Counter())[row["Disease"]] += 1
    assert by_box == {
        (23, 59): Counter(pneumonia=2, dyspepsia=2),
        (61, 70): Counter(flu=2, gastritis=1, bronchitis=1),
    }


def test_table_3() -> None:
    release = table_3()
    rows = [(r["Age"], r["Sex"], r["Zipcode"], r["group_id"]) for r in release.qit.to_pylist()]
    number = {row[0]: row[3] for row in rows}
    first, second = number[23], number[61]
    groups = [first] * 4 + [second] * 4
    assert sorted(rows) == sorted(zip(AGES, "MMMMFFFF", ZIPCODES, groups, strict=True))
    st = {(r["group_id"], r["Disease"], r["count"]) for r in release.st.to_pylist()}
    assert st == {
        (first, "dyspepsia", 2), (first, "pneumonia", 2), (second, "bronchitis", 1),
        (second, "flu", 2), (second, "gastritis", 1),
    }  # fmt: skip


def test_table_4_is_the_join() -> None:
    """Lemma 1, the part that is printed: QI-group 1."""
    joined = table_3().join().read_all().to_pylist()
    printed = [row for row in joined if row["Sex"] == "M"]
    assert sorted((r["Age"], r["Zipcode"], r["Disease"], r["count"]) for r in printed) == [
        (23, 11000, "dyspepsia", 2), (23, 11000, "pneumonia", 2),
        (27, 13000, "dyspepsia", 2), (27, 13000, "pneumonia", 2),
        (35, 59000, "dyspepsia", 2), (35, 59000, "pneumonia", 2),
        (59, 12000, "dyspepsia", 2), (59, 12000, "pneumonia", 2),
    ]  # fmt: skip
    assert {row["probability"] for row in printed} == {0.5}
    assert len(joined) == 8 + 4 * 3


@FORMS
def test_bob_has_either_disease(form: str) -> None:
    found = belief(published(form), BOB)
    assert found.probabilities == {"dyspepsia": 0.5, "pneumonia": 0.5}
    assert found.groups == 1
    assert found.rows == (4 if form == "generalized" else 1)


@FORMS
def test_alice_is_named_with_a_half_at_both_levels(form: str) -> None:
    release = published(form)
    found = belief(release, ALICE)
    assert found.probabilities == {"flu": 0.5, "bronchitis": 0.25, "gastritis": 0.25}
    assert found.rows == (4 if form == "generalized" else 2)
    individual = individual_breach(release, patients())
    assert individual.probabilities.tolist() == [0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 0.25]
    assert (individual.bound, individual.at_bound, individual.unmatched) == (0.5, 6, 0)
    groups = Partition.of(np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32))
    of_rows = partition_breach(groups, patients())
    assert of_rows.probabilities.tolist() == individual.probabilities.tolist()
    assert Counter(row_breach(release).probabilities.tolist()) == {0.5: 6, 0.25: 2}


@pytest.mark.parametrize(
    ("form", "present", "overall", "listed"),
    [("generalized", 4 / 5, 2 / 5, 5), ("anatomized", 1.0, 1 / 2, 2)],
)
def test_table_5_the_voter_list(form: str, present: float, overall: float, listed: int) -> None:
    found = belief(published(form), ALICE, external=TABLE_5)
    assert found.present == pytest.approx(present)
    assert found.breach("flu") == pytest.approx(overall)
    assert found.probabilities["flu"] == 0.5
    assert found.listed == listed
    everybody = individual_breach(published(form), patients(), external=TABLE_5)
    assert everybody.probabilities[6] == pytest.approx(overall)


def test_table_5_tells_that_emily_is_absent_from_the_anatomized_tables() -> None:
    emily = {"Age": 67, "Sex": "F", "Zipcode": 33000}
    assert belief(table_3(), emily, external=TABLE_5).present == 0
    assert belief(table_3(), emily, external=TABLE_5).probabilities == {}
    assert belief(table_2(), emily, external=TABLE_5).present == pytest.approx(4 / 5)


@FORMS
def test_an_accurate_list_takes_the_advantage_of_generalization_away(form: str) -> None:
    without_emily = TABLE_5.filter(pa.array([True, True, True, False, True]))
    assert belief(published(form), ALICE, external=without_emily).present == 1.0


def test_formula_4_with_the_voter_list() -> None:
    """Alice is 65 with chance 3/4, and 67 (like Emily) with 1/4."""
    possible = [(ALICE, 0.75), ({"Age": 67, "Sex": "F", "Zipcode": 33000}, 0.25)]
    exact = uncertain_belief(table_3(), possible, external=TABLE_5)
    assert exact.breach("flu") == pytest.approx(0.75 * 1 * 0.5)
    assert exact.present == pytest.approx(0.75)
    boxed = uncertain_belief(table_2(), possible, external=TABLE_5)
    assert boxed.breach("flu") == pytest.approx(4 / 5 * 0.5)


def test_section_4_distances_of_tuple_1() -> None:
    """Erratum (SPEC section 4): 22.5 is printed for the generalized pdf; Equation 8 gives 0.975."""
    ages = sf.Microdata.from_arrow(
        TABLE_1.select(["Age", "Disease"]),
        sf.Schema(quasi=["Age"], sensitive="Disease", orders={"Age": list(range(1, 101))}),
    )
    first = Partition.of(np.zeros(1, np.int32))
    side = Ranges(ages.attributes["Age"], np.array([20], np.int32), np.array([59], np.int32),
                  np.array([False]))  # fmt: skip
    assert side.n_values().tolist() == [40]  # [21, 60]
    distance = generalized_reconstruction_error(sf.Boxes((side,)), first.sizes)
    assert distance == pytest.approx(0.975)
    assert distance == pytest.approx((1 - 1 / 40) ** 2 + 39 / 40**2)
    group = sf.Histograms.of_groups(
        ages.attributes["Disease"], ages.codes["Disease"][:4], np.zeros(4, np.int32), 1
    )
    assert reconstruction_error(group) / 4 == pytest.approx(0.5)


def test_equation_10_runs_over_all_values_of_a_range() -> None:
    """Ages 23 to 59 are 37 values, of which four occur: 4 (1 - 1/37), not 4 (1 - 1/4)."""
    ages = sf.Microdata.from_arrow(
        TABLE_1.slice(0, 4).select(["Age", "Disease"]),
        sf.Schema(quasi=["Age"], sensitive="Disease"),
    )
    release = sf.publish(ages, sf.Mondrian(), sf.KAnonymity(4))
    assert release.metrics["reconstruction_error"] == pytest.approx(4 * (1 - 1 / 37))
    assert round(release.metrics["reconstruction_error"], 3) == 3.892


@st.composite
def sensitive_tables(draw: st.DrawFn) -> sf.Microdata:
    """Few quasi-identifier vectors, so that many rows share one."""
    n = draw(st.integers(2, 40))
    width = draw(st.integers(2, 8))
    column = st.lists(st.integers(0, width - 1), min_size=n, max_size=n)
    few = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    data = {"x": draw(few), "y": draw(few), "s": draw(column)}
    return sf.Microdata.from_arrow(pa.table(data), sf.Schema(quasi=["x", "y"], sensitive="s"))


def anatomized(
    table: sf.Microdata, algorithm: Any, l: int, form: str = "anatomized"
) -> Release | None:
    try:
        return sf.publish(table, algorithm, sf.LDiversity(l), form=form, seed=3)  # type: ignore[call-overload,no-any-return]
    except Infeasible:
        return None


@pytest.mark.slow
@settings(max_examples=100)
@given(sensitive_tables(), st.integers(2, 5))
def test_theorem_4_is_exact(table: sf.Microdata, l: int) -> None:
    release = anatomized(table, sf.Anatomize(near=False), l)
    assume(release is not None)
    assert release is not None
    n, r = table.n_rows, table.n_rows % l
    expected = n * (1 - 1 / l) * (1 + r / (n * (l - 1)))
    assert release.metrics["reconstruction_error"]["s"] == pytest.approx(expected)


@pytest.mark.slow
@settings(max_examples=50)
@given(sensitive_tables(), st.integers(2, 4), st.booleans())
def test_theorem_2_bounds_every_l_diverse_partition(
    table: sf.Microdata, l: int, relaxed: bool
) -> None:
    for algorithm in (sf.Mondrian(relaxed=relaxed), sf.Anatomize(), sf.Anatomize(near=False)):
        release = anatomized(table, algorithm, l)
        if release is not None:
            error = release.metrics["reconstruction_error"]["s"]
            assert error >= least_reconstruction_error(table.n_rows, l) - 1e-9


ALGORITHMS = st.sampled_from(
    [sf.Anatomize(), sf.Anatomize(near=False), sf.Mondrian(), sf.Mondrian(relaxed=True)]
)
PUBLISHED = st.sampled_from(["anatomized", "generalized"])


@pytest.mark.slow
@settings(max_examples=100)
@given(sensitive_tables(), st.integers(2, 4), ALGORITHMS, PUBLISHED)
def test_theorem_1_nobody_is_named_with_more_than_one_in_l(
    table: sf.Microdata, l: int, algorithm: Any, form: str
) -> None:
    release = anatomized(table, algorithm, l, form)
    assume(release is not None)
    assert release is not None
    found = individual_breach(release, table)
    assert found.largest <= 1 / l + 1e-9
    assert found.unmatched == 0
    assert row_breach(release).largest <= 1 / l + 1e-9


@pytest.mark.slow
@settings(max_examples=50)
@given(sensitive_tables(), st.integers(2, 4))
def test_strict_groups_make_both_levels_equal(table: sf.Microdata, l: int) -> None:
    """Section 3.2: rows with equal quasi-identifiers in the same group, as strict Mondrian has."""
    release = anatomized(table, sf.Mondrian(), l)
    assume(release is not None)
    assert release is not None
    found = individual_breach(release, table).probabilities
    assert sorted(found) == pytest.approx(sorted(row_breach(release).probabilities))
