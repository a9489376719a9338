"""Join releases, verified from their files: intact ones pass, each kind of tampering is found."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audits.evidence import evidence_of
from sfumato.errors import SfumatoError
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.io.writing import write_parquet
from tests.support.sealing import reseal

K = 4
QUASI = ["age", "sex", "town"]
Edit = Callable[[pa.Table], pa.Table]


def people(n: int = 900) -> pa.Table:
    generator = np.random.default_rng(5)
    return pa.table(
        {
            "id": np.arange(n),
            "age": generator.integers(18, 60, n),
            "sex": generator.choice(["f", "m", "x"], n),
            "town": generator.integers(0, 30, n),
        }
    )


def table(sensitive: tuple[str, ...] = ("pay", "sick")) -> sf.Microdata:
    generator = np.random.default_rng(6)
    rows = people().take(pa.array(np.sort(generator.choice(900, 200, replace=False))))
    rows = rows.append_column("pay", pa.array(generator.integers(1, 7, 200) * 1000))
    rows = rows.append_column("sick", pa.array(generator.choice([*"abcd"], 200)))
    schema = sf.Schema(identifiers=["id"], quasi=QUASI, sensitive=list(sensitive))
    return sf.Microdata.from_arrow(rows, schema, id="id")


def released(
    method: sf.Direct | sf.Refinement | None = None,
    sensitive: tuple[str, ...] = ("pay", "sick"),
    labels: Labels = "ranges",
) -> sf.JoinRelease:
    method = method or sf.Refinement(sf.Mondrian())
    model = sf.KJoinAnonymity(K)
    if isinstance(method, sf.Refinement) and sensitive:
        return sf.publish_join(
            table(sensitive), people(), method, model & sf.DistinctLDiversity(2), labels=labels
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.publish_join(table(sensitive), people(), method, model, labels=labels)


@pytest.mark.parametrize("sensitive", [(), ("pay",), ("pay", "sick")])
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("labels", ["ranges", "text", "sets"])
@pytest.mark.parametrize("method", [sf.Direct(sf.Mondrian()), sf.Refinement(sf.Mondrian())])
def test_what_is_published_verifies(
    tmp_path: Path,
    method: sf.Direct | sf.Refinement,
    labels: Labels,
    file_format: FileFormat,
    sensitive: tuple[str, ...],
) -> None:
    made = released(method, sensitive, labels)
    found = sf.verify(made.write(tmp_path / "out", format=file_format)).require()
    assert found.rows == made.manifest.rows
    assert found.groups == made.manifest.groups
    stated = [check.statement for check in found.checks if "(" in check.statement]
    assert stated[0] == f"k-join-anonymity (k = {K})"
    if isinstance(method, sf.Refinement):
        assert stated[1] == f"k-anonymity (k = {K}) of sensitive groups"
        assert len(stated) == 2 + len(sensitive)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return released().write(tmp_path / "out")


def edit(folder: Path, stem: str, change: Edit) -> None:
    path = folder / f"{stem}.parquet"
    write_parquet(change(pq.read_table(path)), path)


def state(folder: Path, **changes: object) -> None:
    path = folder / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    reseal(folder)


def flaw(folder: Path) -> str:
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


def with_cell(name: str, row: int, value: object) -> Edit:
    """The same table with another value in one cell."""

    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[row] = value
        column = pa.array(values, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return change


def moved_line(table: pa.Table) -> pa.Table:
    """The first line stands at the end."""
    return pa.concat_tables([table.slice(1), table.slice(0, 1)])


def largest_group(table: pa.Table) -> pa.Table:
    """All of the last record's group is gone."""
    last = table["sensitive_group"][-1]
    return table.filter(pc.not_equal(table["sensitive_group"], last))


def swapped(table: pa.Table) -> pa.Table:
    order = [1, 0, *range(2, table.num_rows)]
    return table.take(pa.array(order))


def more(name: str, by: int) -> Edit:
    def change(table: pa.Table) -> pa.Table:
        return with_cell(name, 0, table[name][0].as_py() + by)(table)

    return change


def marked(table: pa.Table) -> pa.Table:
    return table.append_column("inside", pa.array([True] * table.num_rows))


SI = "sensitive_groups_sick"
TAMPERED: dict[str, tuple[str, Edit, str]] = {
    "a mark": ("joined", marked, "'inside' is published but not declared in the JAT"),
    "a side is gone": (
        "joined", lambda t: t.drop_columns(["age_max"]), "'age_max' is declared but not published"
    ),
    "no sensitive groups": (
        "joined", lambda t: t.drop_columns(["sensitive_group"]), "'sensitive_group' is declared"
    ),
    "a line is gone": ("joined", lambda t: t.slice(1), "rows are stated"),
    "a null": ("joined", with_cell("age_min", 3, None), "'age_min' of the JAT has a null"),
    "an empty set": ("joined", with_cell("sex", 0, []), "'sex' of the JAT has a null"),
    "a null in a set": ("joined", with_cell("sex", 0, [None]), "'sex' of the JAT has a null"),
    "a null group": ("joined", with_cell("sensitive_group", 0, None), "does not hold whole"),
    "a line apart": ("joined", moved_line, "do not stand together"),
    "a strange group": ("joined", with_cell("sensitive_group", 0, 999), "different sensitive"),
    "a group not in the SI": (SI, largest_group, "different sensitive groups"),
    "a mark in the SI": (SI, marked, "not declared in the SI of 'sick'"),
    "no counts": (SI, lambda t: t.drop_columns(["count"]), "'count' is declared but not"),
    "counts as text": (
        SI,
        lambda t: t.set_column(2, "count", t["count"].cast(pa.string())),
        "'count' of the SI of 'sick' does not hold whole numbers",
    ),
    "a null count": (SI, with_cell("count", 0, None), "does not hold whole numbers"),
    "nobody": (SI, with_cell("count", 0, 0), "counts a value less than once"),
    "another order": (SI, swapped, "not in the order of groups and values"),
    "a value twice": (SI, lambda t: pa.concat_tables([t.slice(0, 1), t]), "not in the order"),
    "one more": (SI, more("count", 1), "other numbers of rows than the other SI"),
    "too many": (SI, more("count", 10_000), "more rows than the JAT has lines"),
    "other numbers": (SI, lambda t: _renumbered(t), "not numbered 1, 2, ..."),
}  # fmt: skip


def _renumbered(table: pa.Table) -> pa.Table:
    return table.set_column(0, "sensitive_group", pc.multiply(table["sensitive_group"], 2))


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found(folder: Path, name: str) -> None:
    stem, change, words = TAMPERED[name]
    edit(folder, stem, change)
    assert words in flaw(folder)


def test_fewer_rows_than_boxes_are_found(tmp_path: Path) -> None:
    folder = released(sensitive=()).write(tmp_path / "out")
    joined = pq.read_table(folder / "joined.parquet")
    boxes = joined.group_by(["age_min", "age_max", "town_min", "town_max", "sensitive_group"])
    per_group = boxes.aggregate([]).group_by("sensitive_group").aggregate([([], "count_all")])
    most = max(per_group.to_pylist(), key=lambda record: int(record["count_all"]))
    assert most["count_all"] > 1
    edit(folder, "sensitive_groups", with_cell("count", most["sensitive_group"] - 1, 1))
    assert "fewer rows than the JAT has boxes" in flaw(folder)


def test_a_group_of_too_few_lines_is_named(folder: Path) -> None:
    first = pq.read_table(folder / "joined.parquet")["age_min"][0].as_py()
    edit(folder, "joined", with_cell("age_min", 0, first - 1000))
    # a box too many may also be one more than its sensitive group has rows for
    assert f"the 1 line with age_min={first - 1000}, " in flaw(folder) or "fewer rows" in flaw(
        folder
    )


def test_stronger_promises_than_kept_are_found(folder: Path) -> None:
    for promise, words in (
        ({"model": "k-join-anonymity", "k": 300}, "lines with age_min="),
        ({"model": "k-anonymity", "k": 100, "on": "sensitive_group"}, "sensitive group "),
        ({"model": "distinct-l-diversity", "l": 5, "on": "sick"}, "sensitive group "),
        ({"model": "l-diversity", "l": 5, "on": "sensitive_group"}, "which sensitive column"),
        ({"model": "l-diversity", "l": 2, "on": "age"}, "not published as sensitive"),
        ({"model": "k-anonymity", "k": 2, "within": ["age"]}, "not a promise of the joined form"),
    ):
        state(folder, promise=[promise])
        check = sf.verify(folder).checks[-1]
        assert not check.kept
        assert words in check.detail, promise


def test_direct_has_no_sensitive_groups(tmp_path: Path) -> None:
    folder = released(sf.Direct(sf.Mondrian())).write(tmp_path / "direct")
    refined = released().write(tmp_path / "refined")
    state(folder, promise=[{"model": "k-anonymity", "k": 2, "on": "sensitive_group"}])
    assert "the release has none" in sf.verify(folder).checks[-1].detail
    (refined / f"{SI}.parquet").rename(folder / "sensitive_groups.parquet")
    assert "'sensitive_groups.parquet' is not part of the release" in flaw(folder)


def test_a_refined_release_cannot_pass_as_direct(folder: Path) -> None:
    stated = json.loads((folder / "release.json").read_text())
    state(folder, algorithm={**stated["algorithm"], "name": "direct"})
    assert "is declared but not published in a release by Direct" in flaw(folder)
    for path in folder.glob("sensitive_groups*"):
        path.unlink()
    assert "has no sensitive_groups" in flaw(folder)
    types = {name: kind for name, kind in stated["types"].items() if name != "sensitive_group"}
    quasi = [one for one in stated["columns"] if one["role"] == "quasi"]
    state(folder, columns=quasi, types=types)
    assert "'sensitive_group' is published but not declared" in flaw(folder)


def test_in_memory_direct_with_an_si_is_found() -> None:
    made, direct = released(), released(sf.Direct(sf.Mondrian()))
    odd = sf.JoinRelease(made.groups, made.group_of_row, made.sis, direct.manifest)
    assert any("made by Direct has no SI" in one for one in evidence_of(odd).flaws())


def test_insensitive_columns_would_mark_lines(folder: Path) -> None:
    edit(folder, "joined", marked)
    stated = json.loads((folder / "release.json").read_text())
    odd = {"name": "inside", "role": "insensitive", "form": "value", "columns": ["inside"]}
    state(folder, columns=[*stated["columns"], odd])
    assert "would tell which lines are of the microdata" in flaw(folder)


HOSTILE: list[dict[str, Any]] = [
    {"promise": [{"model": ["k-join-anonymity"], "k": 3}]},
    {"promise": [{"model": "custom", "class": ["x"]}]},
    {"promise": [{"model": "k-join-anonymity", "k": "many"}]},
    {"promise": [{"model": "k-join-anonymity", "k": 3, "on": ["sick"]}]},
    {"promise": [{"model": "k-join-anonymity", "k": 3, "on": {"a": 1}}]},
    {"promise": [{"model": "k-join-anonymity", "k": None}]},
    {"promise": [{"model": "t-closeness", "t": 0.5, "on": "sensitive_group"}]},
    {"promise": [{"on": "sensitive_group"}]},
    {"promise": [[]]},
    {"promise": "k"},
    {"promise": []},
    {"columns": []},
    {"columns": [{"name": "age", "role": "quasi", "form": "range", "columns": []}]},
    {"columns": [{"name": 5, "role": "sensitive", "form": "value", "columns": [5]}]},
    {"columns": [{"name": "age", "role": ["quasi"], "form": {}, "columns": "age"}]},
    {"columns": [{"name": "age"}]},
    {"columns": 7},
    {"algorithm": {}},
    {"algorithm": {"name": ["refinement"]}},
    {"algorithm": {"name": "refinement", "trim": "perhaps"}},
    {"rows": -1},
    {"rows": "many"},
    {"kind": "generalized"},
    {"kind": "anatomized"},
    {"types": {"age_min": "string", "count": "nonsense"}},
    {"types": []},
    {"external": []},
    {"external": 5},
]


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("changes", HOSTILE, ids=str)
def test_a_hostile_description_never_crashes(
    tmp_path: Path, changes: dict[str, Any], file_format: FileFormat
) -> None:
    folder = released().write(tmp_path / "out", format=file_format)
    state(folder, **changes)
    try:
        found = sf.verify(folder)
    except SfumatoError:
        return
    assert not found.ok


@pytest.mark.parametrize("field", ["kind", "order", "taxonomy", "form", "role", "columns", "name"])
@pytest.mark.parametrize("value", ["odd", 3, ["a"], {"a": ["b"]}, None], ids=str)
def test_a_column_described_oddly_never_crashes(folder: Path, field: str, value: object) -> None:
    stated = json.loads((folder / "release.json").read_text())
    for place in range(len(stated["columns"])):
        columns = [dict(column) for column in stated["columns"]]
        columns[place][field] = value
        state(folder, columns=columns)
        try:
            sf.verify(folder)
        except SfumatoError:
            continue
