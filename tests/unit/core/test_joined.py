"""The full outer join of microdata and an external table: nobody twice, nobody lost."""

from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.fingerprint import digest
from sfumato.errors import DataError, SchemaError
from tests.support.joins import microdata_with_ids

OWN: dict[str, Any] = {
    "id": [1, 2, 3],
    "age": [30, 40, 50],
    "sex": ["f", "m", "f"],
    "disease": ["flu", "cold", "flu"],
}
THEIRS: dict[str, Any] = {
    "id": [2, 3, 7, 8, 9],
    "age": [40, 51, 60, None, 20],
    "sex": ["m", "f", "f", "m", "m"],
    "party": list("abcde"),
}


def table(**changed: Any) -> sf.Microdata:
    return microdata_with_ids({**OWN, **changed}, quasi=["age", "sex"], sensitive="disease")


def external(**changed: Any) -> pa.Table:
    return pa.table({**THEIRS, **changed})


def people(joined: sf.Joined) -> list[tuple[Any, ...]]:
    columns = [
        attribute.decode(joined.everyone.codes[attribute.name]).to_pylist()
        for attribute in joined.everyone.quasi
    ]
    return list(zip(*columns, strict=True))


def test_everyone_is_there_once_with_the_microdata_s_values() -> None:
    joined = sf.join(table(), external())
    assert people(joined) == [(30, "f"), (40, "m"), (50, "f"), (60, "f"), (20, "m")]
    assert joined.inside.tolist() == [True, True, True, False, False]
    matching = joined.matching
    assert (matching.microdata, matching.external, matching.shared) == (3, 5, 2)
    assert (matching.skipped, matching.disagreements) == (1, {"age": 1})


def test_people_outside_who_are_alike_are_one_row() -> None:
    twice = external(id=[2, 3, 7, 8, 9], age=[40, 51, 60, 30, 60], sex=["m", "f", "f", "f", "f"])
    joined = sf.join(table(), twice)
    merged = joined.merged()
    assert people(merged) == [(30, "f"), (40, "m"), (50, "f"), (60, "f"), (30, "f")]
    assert merged.weights is not None
    assert merged.weights.tolist() == [1, 1, 1, 2, 1]
    assert repr(merged) == repr(joined) == "Joined(3 rows of the microdata, 3 others)"
    assert merged.merged().weights.tolist() == merged.weights.tolist()  # type: ignore[union-attr]
    assert digest(merged.everyone, merged.weights) == digest(joined.everyone)


def test_nothing_but_quasi_identifiers_is_joined() -> None:
    joined = sf.join(table(), external())
    assert joined.everyone.schema.roles == {"age": "quasi", "sex": "quasi"}
    assert joined.everyone.ids is None
    assert joined.microdata.ids is None
    assert list(joined.microdata.codes) == ["age", "sex", "disease"]


def test_columns_may_be_called_otherwise() -> None:
    renamed = external().rename_columns(["voter", "years", "gender", "party"])
    columns = {"id": "voter", "age": "years", "sex": "gender"}
    assert people(sf.join(table(), renamed, columns)) == people(sf.join(table(), external()))
    with pytest.raises(SchemaError, match="'party', which is neither the id"):
        sf.join(table(), external(), {"party": "party"})


def test_numbers_of_other_types_are_alike() -> None:
    ages = pa.array([40.0, 51.0, 60.0, None, 20.0])
    assert people(sf.join(table(), external(age=ages))) == people(sf.join(table(), external()))
    halves = sf.join(table(), external(age=[40.0, 51.0, 60.5, float("nan"), 20.0]))
    assert people(halves)[3:] == [(60.5, "f"), (20.0, "m")]
    small = external(id=pa.array(THEIRS["id"], pa.int16()))
    assert sf.join(table(), small).matching.shared == 2


def test_an_empty_external_table_adds_nobody() -> None:
    assert people(sf.join(table(), external().slice(0, 0))) == [(30, "f"), (40, "m"), (50, "f")]
    untyped = pa.table({name: pa.array([], pa.string()) for name in THEIRS})
    assert sf.join(table(), untyped).matching.external == 0


def test_a_declared_domain_holds_for_both() -> None:
    orders = {"sex": ["f", "m"]}
    ordered = microdata_with_ids(OWN, quasi=["age", "sex"], sensitive="disease", orders=orders)
    assert sf.join(ordered, external()).everyone.attributes["sex"].ordered
    with pytest.raises(SchemaError, match=r"in the external table, .*'x', which its declared"):
        sf.join(ordered, external(sex=["m", "f", "x", "m", "m"]))


@pytest.mark.parametrize(
    ("own", "theirs", "error", "message"),
    [
        ({"id": [1, 1, 2]}, {}, DataError, r"'id' is not unique in the microdata: 1 rows"),
        ({"id": [1, None, 2]}, {}, DataError, r"1 rows of the microdata have no 'id'"),
        ({}, {"id": [1, 2, 2, 3, 4]}, DataError, r"not unique in the external table: 1 rows"),
        ({}, {"id": [1, 2, None, 3, 4]}, DataError, r"1 rows of the external table have no 'id'"),
        ({}, {"id": list("abcde")}, SchemaError, r"ids are int64 .* and string .* one type"),
        ({"age": [1, None, 3]}, {}, DataError, r"'age' of the microdata lacks 1 values"),
        ({}, {"age": list("abcde")}, SchemaError, r"'age' holds string values in the external"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(
    own: dict[str, Any], theirs: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sf.join(table(**own), external(**theirs))


@pytest.mark.parametrize("lacking", ["id", "age"])
def test_a_missing_column_is_named(lacking: str) -> None:
    with pytest.raises(SchemaError, match=f"has no column '{lacking}'"):
        sf.join(table(), external().drop_columns([lacking]))


def test_a_table_without_ids_is_refused() -> None:
    schema = sf.Schema(identifiers=["id"], quasi=["age"])
    with pytest.raises(SchemaError, match="read it with id="):
        sf.join(sf.Microdata.from_arrow(pa.table(OWN), schema), external())
    with pytest.raises(SchemaError, match="'age' is not an identifier of the schema"):
        sf.Microdata.from_arrow(pa.table(OWN), schema, id="age")


def test_what_would_mark_rows_is_refused() -> None:
    schema = sf.Schema(identifiers=["id"], quasi=["age"], insensitive=["disease"])
    with pytest.raises(SchemaError, match="insensitive columns"):
        sf.join(sf.Microdata.from_arrow(pa.table(OWN), schema, id="id"), external())
    binned = sf.Schema(identifiers=["id"], quasi=["age"], bins={"age": 2})
    with pytest.raises(SchemaError, match="has bins"):
        sf.join(sf.Microdata.from_arrow(pa.table(OWN), binned, id="id"), external())
