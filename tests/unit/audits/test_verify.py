from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import PromiseBroken
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.io.writing import write_parquet
from sfumato.models.base import Model
from tests.support.sealing import reseal

MODELS: dict[str, Model] = {
    "k": sf.KAnonymity(4),
    "l": sf.LDiversity(2),
    "distinct": sf.DistinctLDiversity(3),
    "entropy": sf.EntropyLDiversity(2.5),
    "recursive": sf.RecursiveLDiversity(3.0, 2),
    "close": sf.TCloseness(0.4),
    "all": sf.KAnonymity(4) & sf.LDiversity(2) & sf.TCloseness(0.5),
}


def people(n: int = 300) -> sf.Microdata:
    generator = np.random.default_rng(5)
    return sf.Microdata.from_arrow(
        pa.table(
            {
                "age": generator.integers(18, 60, n),
                "sex": generator.choice(["f", "m", "x"], n),
                "pay": generator.integers(1, 7, n) * 1000,
            }
        ),
        sf.Schema(quasi=["age", "sex"], sensitive="pay"),
    )


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("labels", ["ranges", "text", "sets"])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_published_verifies(
    tmp_path: Path, model: str, labels: Labels, file_format: FileFormat, relaxed: bool
) -> None:
    made = sf.publish(people(), sf.Mondrian(relaxed=relaxed), MODELS[model], labels=labels)
    made.write(tmp_path / "out", format=file_format)
    found = sf.verify(tmp_path / "out").require()
    assert found.ok
    assert found.groups <= made.manifest.groups
    if not relaxed:
        assert found.groups == made.manifest.groups


def written(tmp_path: Path, model: str = "k") -> Path:
    return sf.publish(people(), sf.Mondrian(), MODELS[model]).write(tmp_path / "out")


def rewrite(folder: Path, table: pa.Table) -> None:
    write_parquet(table, folder / "generalized.parquet")


def told(folder: Path) -> str:
    """All that is wrong."""
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


def state(folder: Path, **changes: object) -> None:
    path = folder / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    reseal(folder)


def test_a_group_that_lost_a_row_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path)
    table = pq.read_table(folder / "generalized.parquet")
    odd = table.slice(0, 1).set_column(0, "age_min", pa.array([1], table["age_min"].type))
    rewrite(folder, pa.concat_tables([odd, table.slice(1)]))
    found = sf.verify(folder)
    assert not found.ok
    assert "the 1 row with age_min=1, " in told(folder)
    with pytest.raises(PromiseBroken, match="age_min=1"):
        found.require()


def test_a_stronger_promise_than_kept_is_caught(tmp_path: Path) -> None:
    folder = written(tmp_path)
    state(folder, promise=[{"model": "k-anonymity", "k": 50}])
    assert not sf.verify(folder).ok


@pytest.mark.parametrize(
    ("model", "stronger"),
    [
        ("l", {"model": "l-diversity", "l": 5, "on": "pay"}),
        ("distinct", {"model": "distinct-l-diversity", "l": 6, "on": "pay"}),
        ("entropy", {"model": "entropy-l-diversity", "l": 5.9, "on": "pay"}),
        ("recursive", {"model": "recursive-cl-diversity", "c": 0.2, "l": 3, "on": "pay"}),
        ("close", {"model": "t-closeness", "t": 0.001, "on": "pay"}),
    ],
)
def test_a_stronger_sensitive_promise_is_caught(
    tmp_path: Path, model: str, stronger: dict[str, object]
) -> None:
    folder = written(tmp_path, model)
    state(folder, promise=[stronger])
    assert not sf.verify(folder).ok


def test_missing_rows_and_undeclared_columns_are_caught(tmp_path: Path) -> None:
    folder = written(tmp_path)
    table = pq.read_table(folder / "generalized.parquet")
    rewrite(folder, table.slice(5))
    assert "295 published" in told(folder)
    rewrite(folder, table.append_column("name", pa.array(["x"] * table.num_rows)))
    assert "'name' is published but not declared" in told(folder)
    rewrite(folder, table.drop_columns(["age_max"]))
    assert "'age_max' is declared but not published" in told(folder)


def test_lists_are_compared_as_sets_of_values(tmp_path: Path) -> None:
    # three rows that differ only in the last value of their list are three groups
    folder = written(tmp_path)
    lists = pa.table(
        {"a": [["x", "y"], ["x", "z"], ["x"]], "pay": [1, 2, 3]},
    )
    rewrite(folder, lists)
    state(
        folder,
        rows=3,
        columns=[
            {"name": "a", "role": "quasi", "form": "set", "columns": ["a"], "kind": "categorical"},
            {
                "name": "pay",
                "role": "sensitive",
                "form": "value",
                "columns": ["pay"],
                "kind": "numerical",
            },
        ],
        types={"a": "list<item: string>", "pay": "int64"},
        promise=[{"model": "k-anonymity", "k": 2}],
    )
    assert sf.verify(folder).groups == 3
    assert "the 1 row with a=['x', 'y'], and 2 other groups" in told(folder)


def test_a_vacuous_promise_is_no_promise(tmp_path: Path) -> None:
    folder = written(tmp_path)
    state(folder, promise=[{"model": "t-closeness", "t": 0.3}])
    assert "which sensitive column" in told(folder)
    state(folder, promise=[])
    assert "promises nothing" in told(folder)


def test_files_that_do_not_belong_are_caught(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "patients.csv").write_text("name\nAda\n")
    assert "'patients.csv' is not part" in told(folder)
    (folder / "patients.csv").rename(folder / "generalized.csv")
    assert "'generalized' is there twice" in told(folder)
