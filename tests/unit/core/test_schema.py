from typing import Any

import pytest

from sfumato.core.attribute import Kind
from sfumato.core.schema import Role, Schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import SchemaError

TREE = Taxonomy.from_nested({"any": ["x", "y"]})


def test_roles_list_quasi_identifiers_first() -> None:
    schema = Schema(
        identifiers=["name"], quasi=["age", "sex"], sensitive="disease", insensitive=["note"]
    )
    assert list(schema.roles.items()) == [
        ("age", Role.QUASI),
        ("sex", Role.QUASI),
        ("disease", Role.SENSITIVE),
        ("note", Role.INSENSITIVE),
        ("name", Role.IDENTIFIER),
    ]


def test_one_sensitive_column_needs_no_list() -> None:
    assert Schema(quasi=["a"], sensitive="s") == Schema(quasi=["a"], sensitive=["s"])


def test_a_declared_order_makes_a_column_categorical() -> None:
    declared = Schema(quasi=["a"], orders={"a": [2, 1]}).declarations["a"]
    assert (declared.kind, declared.order) == (Kind.CATEGORICAL, (2, 1))


def test_kinds_may_be_words() -> None:
    declared = Schema(quasi=["a"], kinds={"a": "categorical"}).declarations["a"]
    assert (declared.kind, declared.order) == (Kind.CATEGORICAL, None)


def test_a_schema_is_hashable_and_frozen() -> None:
    schema = Schema(quasi=["a"], orders={"a": [1]})
    assert hash(schema) == hash(Schema(quasi=["a"], orders={"a": [1]}))
    with pytest.raises(AttributeError):
        schema.quasi = ("b",)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("mistake", "complaint", "column"),
    [
        ({"quasi": []}, "at least one quasi-identifier", None),
        ({"quasi": "age"}, "wants a list", None),
        ({"quasi": ["a", 7]}, "holds 7", None),
        ({"quasi": ["a", ""]}, "not a column name", None),
        ({"quasi": ["a", "b", "a"]}, "'a' twice", "a"),
        ({"quasi": ["a"], "sensitive": ["s", "s"]}, "'s' twice", "s"),
        ({"quasi": ["a"], "sensitive": "a"}, "two roles, quasi and sensitive", "a"),
        ({"quasi": ["a"], "identifiers": "name"}, "wants a list", None),
        ({"quasi": ["a"], "identifiers": ["a"]}, "two roles", "a"),
        ({"quasi": ["a"], "insensitive": ["a"]}, "two roles", "a"),
        ({"quasi": ["a"], "kinds": {"b": "numerical"}}, "neither quasi nor sensitive", "b"),
        ({"quasi": ["a"], "orders": {"b": [1]}}, "neither quasi nor sensitive", "b"),
        ({"quasi": ["a"], "taxonomies": {"b": TREE}}, "neither quasi nor sensitive", "b"),
        (
            {"quasi": ["a"], "insensitive": ["b"], "kinds": {"b": "numerical"}},
            "neither quasi nor sensitive",
            "b",
        ),
        ({"quasi": ["a"], "kinds": {"a": "ordinal"}}, "'numerical' or 'categorical'", "a"),
        (
            {"quasi": ["a"], "kinds": {"a": "numerical"}, "orders": {"a": [1]}},
            "order is that of the numbers",
            "a",
        ),
        (
            {"quasi": ["a"], "orders": {"a": ["x"]}, "taxonomies": {"a": TREE}},
            "an order and a taxonomy",
            "a",
        ),
    ],
)
def test_mistakes_are_named(mistake: dict[str, Any], complaint: str, column: str | None) -> None:
    with pytest.raises(SchemaError, match=complaint) as caught:
        Schema(**mistake)
    assert caught.value.column == column


@pytest.mark.parametrize("name", ["\0row", "a\0b"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive", "identifiers"])
def test_a_zero_character_in_a_name_is_refused(role: str, name: str) -> None:
    """Rows that are read in parts have their number in a column of such a name."""
    with pytest.raises(SchemaError, match=r"'.*\\x00.*' has a zero character in its name"):
        Schema(**{"quasi": ["age"], role: [name]})  # type: ignore[arg-type]
