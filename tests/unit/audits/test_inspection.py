from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.audits.inspection import repeated_identifiers
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


def guessed(name: str, values: list[object]) -> Role | None:
    return sf.profile(pa.table({name: values}))[0].role


@pytest.mark.parametrize(
    "name",
    ["patient_name", "full_name", "FullName", "email_address", "E-Mail", "phone_number",
     "birthName",
     "social_security_number", "home_address", "username", "UserID", "USER ID", "credit_card",
     "license_plate", "ip", "MACAddress", "client IP", "device_id", "patientNo", "customer-number"],
)  # fmt: skip
def test_words_that_name_people(name: str) -> None:
    assert guessed(name, ["a", "b"] * 50) is Role.IDENTIFIER


@pytest.mark.parametrize(
    "name", ["zip", "description", "machine", "filename2", "country", "ethnic"]
)
def test_words_inside_other_words_name_nobody(name: str) -> None:
    assert guessed(name, ["a", "b"] * 50) is Role.QUASI


def test_the_name_of_a_disease_is_sensitive() -> None:
    assert guessed("disease_name", ["flu", "gout"] * 50) is Role.SENSITIVE
    assert guessed("has_phone", [True, False] * 50) is Role.QUASI


@pytest.mark.parametrize("name", ["admission_type_id", "encounter_nbr", "flight_no", "AdmissionID"])
def test_a_number_of_something_identifies_when_it_has_many_values(name: str) -> None:
    assert guessed(name, [i % 8 for i in range(1000)]) is Role.QUASI
    assert guessed(name, [i % 51 for i in range(1000)]) is Role.IDENTIFIER


def test_counts_are_no_identifiers() -> None:
    assert guessed("num_visits", [i % 9 for i in range(100)]) is Role.QUASI


def test_texts_that_nearly_all_differ_identify() -> None:
    texts: list[object] = [f"note {i}" for i in range(90)]
    assert guessed("diagnosis", [*texts, *["same"] * 10]) is Role.IDENTIFIER
    assert guessed("remark", [*texts[:80], *["same"] * 20]) is Role.QUASI
    assert guessed("remark", [*texts[:20], *[None] * 80]) is Role.IDENTIFIER
    assert guessed("remark", ["a", "b", "c", "a"]) is Role.QUASI


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_in_other_layouts_are_texts(kind: pa.DataType) -> None:
    texts = pa.array([f"note {i}" for i in range(19)] + ["note 0"]).cast(kind)
    assert sf.profile(pa.table({"remark": texts}))[0].role is Role.IDENTIFIER


def test_several_rows_per_person_are_counted() -> None:
    table = pa.table(
        {
            "patient_nbr": [i // 2 for i in range(2000)],
            "name": ["Ann", "Bo"] * 1000,
            "encounter_id": list(range(2000)),
            "age": [30] * 2000,
        }
    )
    profiles = sf.profile(table)
    found = repeated_identifiers(profiles, sf.guess_schema(profiles).identifiers, 2000)
    assert [str(repeats) for repeats in found] == [
        "1,000 different patient_nbr in 2,000 rows: several rows per person; "
        "k counts rows, not people"
    ]
    assert found[0].to_dict()["distinct"] == 1000
    assert repeated_identifiers(profiles, ["name", "encounter_id"], 2000) == ()


def test_columns_that_can_play_no_role() -> None:
    table = pa.table(
        {
            "s": [{"a": 1}, None],
            "l": [["x"], []],
            "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "b": [b"x", b"y"],
            "n": pa.nulls(2),
            "age": [30, 30],
        }
    )
    profiles = sf.profile(table)
    assert [column.role for column in profiles[:4]] == [None] * 4
    assert {column.reason for column in profiles[:4]} == {"(not usable)"}
    assert profiles[0].type == "struct"
    assert sf.guess_schema(profiles).quasi == ("n", "age")


@pytest.mark.parametrize("kind", [pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(20, -3)])
def test_narrow_decimals_are_counted(kind: pa.DataType) -> None:
    numbers = pa.array([Decimal(0), Decimal(0), None, Decimal(10) ** max(0, -kind.scale)], kind)
    (found,) = sf.profile(pa.table({"x": numbers}))
    assert (found.distinct, found.missing) == (2, 1)


def hints(**columns: Any) -> dict[str, str]:
    return {one.name: one.hint for one in sf.profile(pa.table(columns)) if one.hint}


def test_codes_and_odd_values_are_hinted_at() -> None:
    rows = range(900)
    found = hints(
        race=[(1, 2, 5, 9)[row % 4] for row in rows],
        children=[row % 5 for row in rows],
        visits=[(*range(15), 16, 19, 21)[row % 18] for row in rows],
        admission_type_id=[row % 8 + 1 for row in rows],
        SexCode=[row % 2 for row in rows],
        flag=[row % 2 * 7 for row in rows],
        age=["unknown" if row == 5 else "89+" if row % 100 == 1 else f"{row % 70}" for row in rows],
        town=[f"town {row % 30}" for row in rows],
        zip=[f"0{2000 + row % 40}" for row in rows],
        pay=[f"{row % 50},5" for row in rows],
        born=[f"{row % 28 + 1}.3.1980" for row in rows],
        seen=[f"{row % 28 + 1}.3.1980" if row % 2 else f"1980-03-{row % 9 + 1:02}" for row in rows],
    )
    assert set(found) == {"race", "age", "pay", "born", "seen", "admission_type_id"}
    assert "8 whole numbers named as codes" in found["admission_type_id"]
    assert "more than one way" in found["seen"]
    assert "4 whole numbers with gaps from 1 to 9" in found["race"]
    assert "but for '89+' (9 rows), 'unknown' (1 row)" in found["age"]
    assert "--decimal ," in found["pay"]
    assert "--day-first" in found["born"]


def test_columns_that_tell_nothing_are_hinted_at() -> None:
    found = hints(same=["a"] * 30, none=[None] * 30, few=["a"] * 29 + ["b"], some=["a", None] * 15)
    assert set(found) == {"same", "none"}
    assert found["same"].startswith("one value in all rows")
    assert found["none"].startswith("nothing in all rows")


@pytest.mark.parametrize(
    ("name", "role"),
    [("diag_1", Role.SENSITIVE), ("diag_2", Role.SENSITIVE), ("diag3", Role.SENSITIVE),
     ("dx", Role.SENSITIVE), ("icd10_code", Role.SENSITIVE), ("diagonal", Role.QUASI),
     ("index_of", Role.QUASI)],
)  # fmt: skip
def test_all_of_several_diagnoses_are_sensitive(name: str, role: Role) -> None:
    (found,) = sf.profile(pa.table({name: ["a", "b", "c"] * 20}))
    assert found.role is role


def test_numbers_that_may_be_weights_of_a_survey() -> None:
    table = pa.table({
        "instance_weight": [1700.5, 12.25] * 20, "weight": ["[75-100)"] * 40,
        "birth_wt": [3.5, 2.5] * 20, "height": [1.7, 1.8] * 20, "fnlwgt": [77516, 83311] * 20,
        "wt": [60, 80] * 20,
    })  # fmt: skip
    hints = {column.name: column.hint for column in sf.profile(table)}
    assert [name for name, hint in hints.items() if "--weight" in hint] == [
        "instance_weight", "birth_wt", "fnlwgt",
    ]  # fmt: skip
    assert hints["instance_weight"].endswith("--weight instance_weight")
