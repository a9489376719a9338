"""Schema and taxonomy files: what is read, what is refused and why, what is written."""

import datetime as dt
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attribute import Kind
from sfumato.core.schema import Schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import OutputExists, ReleaseError, SchemaError
from sfumato.io.schema_files import read_schema, read_taxonomies, write_schema

WHOLE = """
identifiers = ["name"]
quasi = ["age", "zipcode", "education", "job"]
sensitive = "disease"
insensitive = ["ward"]

[attributes.zipcode]
kind = "categorical"

[attributes.education]
order = ["none", "primary", "secondary"]

[taxonomies.job]
"*" = { technical = ["engineer", "lawyer"], artist = ["dancer", "writer"], unknown = [] }
"""
TREE: Any = {"*": {"technical": ["engineer"], "artist": {"stage": ["dancer"]}, "none": []}}


def written(folder: Path, text: str, name: str = "s.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def same(one: Schema, other: Schema) -> bool:
    trees = [
        {name: tree.to_nested() for name, tree in schema.taxonomies.items()}
        for schema in (one, other)
    ]
    # as text, because a dictionary compares without its order, which is that of the values
    return (
        one.roles == other.roles
        and one.declarations == other.declarations
        and json.dumps(trees[0], default=str) == json.dumps(trees[1], default=str)
    )


def round_trip(schema: Schema, notes: dict[str, str] | None = None) -> Schema:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        write_schema(path, schema, notes=notes)
        return read_schema(path)


def test_a_whole_schema(tmp_path: Path) -> None:
    schema = read_schema(written(tmp_path, "\ufeff" + WHOLE))
    assert schema.identifiers == ("name",)
    assert schema.quasi == ("age", "zipcode", "education", "job")
    assert schema.sensitive == ("disease",)
    assert schema.insensitive == ("ward",)
    assert schema.declarations["zipcode"].kind is Kind.CATEGORICAL
    assert schema.declarations["education"].order == ("none", "primary", "secondary")
    assert schema.taxonomies["job"].leaves == ("engineer", "lawyer", "dancer", "writer", "unknown")


def test_a_list_of_sensitive_columns(tmp_path: Path) -> None:
    path = written(tmp_path, 'quasi = ["a"]\nsensitive = ["b", "c"]')
    assert read_schema(str(path)).sensitive == ("b", "c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quasi = a\n", "not valid TOML: .*line 1"),
        ("quasi = [", "not valid TOML: .*end of document"),
        ('quasi = ["a"]\nquasi = ["b"]\n', "not valid TOML: .*line 2"),
        ("", "is empty"),
        ("# nothing", "at least one quasi-identifier"),
        ('quasy = ["a"]', "unknown key 'quasy'; did you mean 'quasi'"),
        ('zzz = ["a"]', "unknown key 'zzz'; known are identifiers, quasi"),
        ('quasi = ["a"]\n[attributes.a]\nknd = "x"', "'attributes.a.knd'; did you mean 'kind'"),
        ('quasi = "age"', "quasi is the text 'age'; it should be a list of column names"),
        ("quasi = [1]", "quasi holds 1; it should be a list of column names"),
        ('quasi = [["a"]]', "quasi holds a list; it should be a list of column names"),
        ("quasi = true", "quasi is true or false"),
        ('quasi = ["a"]\nsensitive = 1', "sensitive is 1"),
        ('quasi = ["a"]\nattributes = 1', "attributes is 1; it should be a table"),
        ('quasi = ["a"]\nattributes.a = 1', "attributes.a is 1; it should be a table"),
        ('quasi = ["a"]\nattributes.a.kind = 1', 'attributes.a.kind is 1; .*"numerical"'),
        ('quasi = ["a"]\nattributes.a.kind = "odd"', "kind 'odd'; it can be"),
        ('quasi = ["a"]\nattributes.a.order = "x"', "a.order is the text 'x'"),
        ('quasi = ["a"]\nattributes.a.order = []', "a.order is a list; .*lowest first"),
        ('quasi = ["a"]\nattributes.a.order = [["x"]]', "a.order holds a list"),
        ('quasi = ["a"]\nattributes.b.kind = "numerical"', "'b' is described but is neither"),
        ('quasi = ["a"]\nsensitive = "a"', "'a' has two roles"),
        ('quasi = ["a", "a"]', "'a' twice"),
        ('quasi = [""]', "not a column name"),
        ('quasi = ["a"]\ntaxonomies = 1', "taxonomies is 1; it should be a table"),
        ('quasi = ["a"]\ntaxonomies.a = ["x"]', "taxonomies.a is a list; it should be a table"),
        ('quasi = ["a"]\n[taxonomies.a]\nx = ["1"]\ny = ["2"]', "taxonomies.a: .*one root, not 2"),
        (
            'quasi = ["a"]\ntaxonomies.a.x = "1"',
            "taxonomies.a.x is the text '1'; .*a list of values",
        ),
        ('quasi = ["a"]\ntaxonomies.a.x = [["1"]]', "taxonomies.a.x holds a list"),
        ('quasi = ["a"]\ntaxonomies.a.x = ["1", "1"]', "taxonomies.a: .*'1' appears twice"),
        (
            'quasi = ["a"]\nattributes.a.order = ["x"]\ntaxonomies.a.r = ["x"]',
            "has an order and a taxonomy",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SchemaError, match=said) as caught:
        read_schema(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_schema(tmp_path: Path) -> None:
    written(tmp_path, WHOLE)
    with pytest.raises(SchemaError, match=r"does not exist; did you mean 's\.toml'"):
        read_schema(tmp_path / "S.toml")
    with pytest.raises(SchemaError, match=r"unknown extension; use \.toml"):
        read_schema(tmp_path / "s.yaml")
    (tmp_path / "b.toml").write_bytes(b'quasi = ["\xfc"]')
    with pytest.raises(SchemaError, match="save it as UTF-8"):
        read_schema(tmp_path / "b.toml")
    (tmp_path / "c.toml").mkdir()
    with pytest.raises(SchemaError, match="is a folder"):
        read_schema(tmp_path / "c.toml")


def test_taxonomies_from_json_and_toml(tmp_path: Path) -> None:
    text = json.dumps({"job": TREE, "age": {"all": {"low": [1, 2], "high": [3]}}})
    found = read_taxonomies(written(tmp_path, text, "t.json"))
    assert found["job"].to_nested() == TREE
    assert found["age"].leaves == (1, 2, 3)
    text = '[job]\n"*".technical = ["engineer"]\n"*".artist.stage = ["dancer"]\n"*".none = []\n'
    assert read_taxonomies(written(tmp_path, text, "t.toml"))["job"].to_nested() == TREE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON: .*line 1"),
        ("[]", "the top level is a list; it should be a table"),
        ('{"a": {"r": ["x"], "r": ["y"]}}', "'r' is given twice"),
        ('{"a": {"r": [null]}}', "a.r holds null"),
        ('{"a": {"r": null}}', "a.r is null"),
        ('{"a": {}}', "one root, not 0"),
    ],
)
def test_mistakes_in_json(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text, "t.json")
    with pytest.raises(SchemaError, match=said) as caught:
        read_taxonomies(path)
    assert str(caught.value).startswith(str(path))


def test_a_written_schema_reads_well(tmp_path: Path) -> None:
    schema = Schema(
        identifiers=["name"],
        quasi=["age", "job"],
        sensitive="disease",
        orders={"disease": ["mild", "severe"]},
        kinds={"age": "numerical"},
        taxonomies={"job": Taxonomy.from_nested(TREE)},
    )
    notes = {"age": "80 values\nfrom 10 to 89", "name": "all different", "ward": "always 7"}
    write_schema(tmp_path / "s.toml", schema, notes=notes)
    assert (tmp_path / "s.toml").read_text().splitlines() == [
        "# Each column has one role. Columns without a role are not read at all.",
        "",
        "# Names a person directly: left out of everything that is published.",
        "identifiers = [",
        '    "name",  # all different',
        "]",
        "",
        "# May be known to others and point to a person: made coarser.",
        "quasi = [",
        '    "age",  # 80 values from 10 to 89',
        '    "job",',
        "]",
        "",
        "# Must not be linked to a person.",
        'sensitive = ["disease"]',
        "",
        "# Harmless: published as it is.",
        "insensitive = []",
        "",
        "[attributes.age]",
        'kind = "numerical"',
        "",
        "[attributes.disease]",
        'order = ["mild", "severe"]',
        "",
        "[taxonomies.job]",
        '"*".technical = ["engineer"]',
        '"*".artist.stage = ["dancer"]',
        '"*".none = []',
        "",
        "# Without a role:",
        '# "ward" always 7',
    ]
    assert same(read_schema(tmp_path / "s.toml"), schema)


def test_values_of_other_types_survive() -> None:
    order = [True, 3, 2.5, np.float64(0.1), dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4)]
    found = round_trip(Schema(quasi=["a"], orders={"a": order}))
    assert found.declarations["a"].order == tuple(order)


def test_a_value_that_toml_lacks() -> None:
    with pytest.raises(SchemaError, match="cannot be written to a schema file"):
        round_trip(Schema(quasi=["a"], orders={"a": [None]}))
    with pytest.raises(SchemaError, match="not valid Unicode"):
        round_trip(Schema(quasi=["\ud800"]))


@pytest.mark.parametrize("values", [(1, 2), (0.5, 2.0), (dt.date(2020, 1, 2), dt.date(2021, 3, 4))])
def test_a_value_beside_labels_keeps_its_type(values: tuple[Any, Any]) -> None:
    tree = Taxonomy.from_paths([(values[0], "low", "*"), (values[1], "*")])
    found = round_trip(Schema(quasi=["a"], taxonomies={"a": tree})).taxonomies["a"]
    assert found.leaves == values
    assert found.labels == tree.labels


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = written(tmp_path, "mine")
    with pytest.raises(OutputExists, match="force=True"):
        write_schema(path, Schema(quasi=["a"]))
    assert path.read_text() == "mine"
    write_schema(path, Schema(quasi=["a"]), force=True)
    assert read_schema(path).quasi == ("a",)
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


@pytest.mark.parametrize(
    ("name", "held"),
    [("people.csv", "age,sex\n1,f\n"), ("schema", "quasi = []"), ("pyproject.toml", "[project]\n")],
)
def test_only_a_schema_is_replaced(tmp_path: Path, name: str, held: str) -> None:
    path = tmp_path / name
    path.write_text(held)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    for one in (path, link):
        with pytest.raises(OutputExists, match="is no schema file, so it is not replaced"):
            write_schema(one, Schema(quasi=["a"]), force=True)
    assert path.read_text() == held


@pytest.mark.parametrize("held", ["", "# nothing yet\n", 'sensitive = "x"', "quasi = [\n"])
def test_a_draft_of_a_schema_is_replaced(tmp_path: Path, held: str) -> None:
    path = written(tmp_path, held)
    write_schema(path, Schema(quasi=["a"]), force=True)
    assert read_schema(path).quasi == ("a",)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "mine")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReleaseError, match="No space left"):
        write_schema(path, Schema(quasi=["a"]), force=True)
    assert path.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_schema(tmp_path / "s.toml", Schema(quasi=["a"]))
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "s.toml").stat().st_mode) == 0o640


NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=6)
# TOML has no hour that is repeated when the clocks go back
DATES = st.dates() | st.times().map(lambda time: time.replace(fold=0))
VALUES = NAMES | st.integers() | st.booleans() | st.floats(allow_nan=False) | DATES
LEAVES = st.lists(st.text(max_size=4), max_size=3)
TREES = st.recursive(LEAVES, lambda below: st.dictionaries(NAMES, below, max_size=4), max_leaves=8)


@given(st.lists(NAMES, unique=True, min_size=1), st.lists(VALUES, max_size=5), st.text())
def test_any_names_and_values_survive(names: list[str], values: list[object], note: str) -> None:
    half = len(names) // 2 + 1
    schema = Schema(
        quasi=names[:half], sensitive=names[half:], orders={names[0]: values} if values else None
    )
    found = round_trip(schema, {names[-1]: note, "without a role": note})
    assert found == schema
    # 1, 1.0 and True are equal, but not the same value
    assert typed_orders(found) == typed_orders(schema)


def typed_orders(schema: Schema) -> list[list[tuple[type, object]]]:
    orders = (declared.order or () for declared in schema.declarations.values())
    return [[(type(value), value) for value in order] for order in orders]


@given(NAMES, NAMES, TREES)
def test_any_taxonomy_survives(name: str, root: str, below: object) -> None:
    try:
        taxonomy = Taxonomy.from_nested({root: below})  # type: ignore[dict-item]
    except SchemaError:  # a label twice
        return
    schema = Schema(quasi=[name], taxonomies={name: taxonomy})
    assert same(round_trip(schema), schema)
    assert round_trip(schema).taxonomies[name].leaves == taxonomy.leaves
