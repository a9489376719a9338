import pyarrow as pa
import pytest

from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.errors import DataError, SchemaError
from tests.support.tables import PATIENTS

PEOPLE = pa.table({"name": list("abcdef"), **PATIENTS, "note": [1, 2, 3, 4, 5, 6]})
SCHEMA = Schema(
    identifiers=["name"], quasi=["zipcode", "sex"], sensitive="disease", insensitive=["note"]
)


def test_columns_are_held_as_codes_in_schema_order() -> None:
    table = Microdata.from_arrow(PEOPLE, SCHEMA)
    assert len(table) == 6
    assert [attribute.name for attribute in table.quasi] == ["zipcode", "sex"]
    assert [attribute.name for attribute in table.sensitive] == ["disease"]
    assert table.quasi_codes().tolist() == [[1, 1], [2, 0], [1, 1], [0, 1], [2, 0], [1, 1]]
    assert table.quasi_sizes().tolist() == [3, 2]
    assert table.insensitive.to_pydict() == {"note": [1, 2, 3, 4, 5, 6]}


def test_nothing_keeps_identifiers_or_columns_without_a_role() -> None:
    table = Microdata.from_arrow(PEOPLE, SCHEMA)
    held = {*table.attributes, *table.codes, *table.insensitive.column_names}
    assert held == {"zipcode", "sex", "disease", "note"}


def test_a_table_in_a_log_shows_nobody() -> None:
    shown = repr(Microdata.from_arrow(PEOPLE, SCHEMA))
    assert "6 rows" in shown
    assert not any(str(value) in shown for values in PATIENTS.values() for value in values)


def test_an_absent_column_is_named_with_the_closest_one() -> None:
    with pytest.raises(SchemaError, match=r"'zipcod' \(quasi\); did you mean 'zipcode'") as caught:
        Microdata.from_arrow(PEOPLE, Schema(quasi=["zipcod"]))
    assert caught.value.column == "zipcod"


def test_an_absent_identifier_is_an_error_too() -> None:
    with pytest.raises(SchemaError, match="the table has") as caught:
        Microdata.from_arrow(PEOPLE, Schema(identifiers=["QQ"], quasi=["age"]))
    assert caught.value.column == "QQ"


def test_a_column_must_not_come_twice() -> None:
    twice = pa.table([[1], [2]], names=["a", "a"])
    with pytest.raises(DataError, match="2 columns named 'a'"):
        Microdata.from_arrow(twice, Schema(quasi=["a"]))


def test_an_empty_table_has_nobody_to_protect() -> None:
    with pytest.raises(DataError, match="no rows"):
        Microdata.from_arrow(PEOPLE.slice(0, 0), SCHEMA)
