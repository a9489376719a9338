from __future__ import annotations

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.schema import Role
from sfumato.errors import DataError, Infeasible

TABLE = pa.table(
    {
        "patient_id": [f"p{i}" for i in range(12)],
        "Last Name": ["a", "b"] * 6,
        "age": [30, 30, 30, 30, 31, 31, 32, 33, 34, 34, 34, 34],
        "sex": ["f"] * 4 + ["m"] * 8,
        "serial": list(range(12)),
        "diagnosis": ["flu"] * 6 + ["cold"] * 3 + ["gout"] * 3,
    }
)


def test_roles_are_guessed_on_the_safe_side() -> None:
    roles = {column.name: column.role for column in sf.profile(TABLE)}
    assert roles == {
        "patient_id": Role.IDENTIFIER,
        "Last Name": Role.IDENTIFIER,
        "age": Role.QUASI,
        "sex": Role.QUASI,
        "serial": Role.IDENTIFIER,
        "diagnosis": Role.SENSITIVE,
    }


def test_risk_counts_rows_that_stand_alone() -> None:
    schema = sf.guess_schema(sf.profile(TABLE))
    risk = sf.assess(sf.Microdata.from_arrow(TABLE, schema))
    # classes on (age, sex): 4, 2, 1, 1, 4
    assert (risk.classes, risk.unique_rows, risk.rows_in_small_classes) == (5, 2, 12)
    assert risk.smallest_class == 1


def test_the_largest_feasible_parameters_are_exact() -> None:
    schema = sf.Schema(quasi=["age", "sex"], sensitive="diagnosis")
    data = sf.Microdata.from_arrow(TABLE, schema)
    risk = sf.assess(data)
    found = risk.sensitive[0]
    assert (found.largest_l, found.largest_distinct_l, found.largest_m) == (2, 3, 2)
    for feasible, beyond in (
        (sf.KAnonymity(risk.largest_k), sf.KAnonymity(risk.largest_k + 1)),
        (sf.LDiversity(found.largest_l), sf.LDiversity(found.largest_l + 1)),
        (sf.DistinctLDiversity(3), sf.DistinctLDiversity(4)),
        (
            sf.EntropyLDiversity(found.largest_entropy_l),
            sf.EntropyLDiversity(found.largest_entropy_l + 0.02),
        ),
    ):
        sf.publish(data, sf.Mondrian(), feasible)
        with pytest.raises(Infeasible):
            sf.publish(data, sf.Mondrian(), beyond)


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        sf.profile(TABLE.slice(0, 0))
