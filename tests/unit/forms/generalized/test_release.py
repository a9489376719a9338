from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.algorithms.base import Progress
from sfumato.core.arrays import Flags
from sfumato.core.randomness import Randomness
from sfumato.errors import OutputExists, ParameterError, PromiseBroken, ReleaseError, SchemaError
from sfumato.forms.columns import Labels
from sfumato.models.requirements import Requirement
from tests.support.seeds import long_seed

JOBS = sf.Taxonomy.from_nested({"any": {"craft": ["baker", "smith"], "office": ["clerk", "judge"]}})


def people(n: int = 200, seed: int = 3) -> pa.Table:
    generator = np.random.default_rng(seed)
    ages = generator.integers(18, 90, n)
    return pa.table(
        {
            "name": [f"person-{i:04}" for i in range(n)],
            "age": pa.array(ages, mask=generator.random(n) < 0.1),
            "job": generator.choice(["baker", "smith", "clerk", "judge"], n),
            "town": pa.array(
                [None if hole else f"town-{t}" for t, hole in
                 zip(generator.integers(0, 6, n), generator.random(n) < 0.1, strict=True)]
            ),
            "disease": generator.choice(["flu", "cold", "gout", "cough", "ache"], n),
            "visit": np.arange(n),
        }
    )  # fmt: skip


def schema(**more: object) -> sf.Schema:
    return sf.Schema(
        identifiers=["name"],
        quasi=["age", "job", "town"],
        sensitive="disease",
        insensitive=["visit"],
        taxonomies={"job": JOBS},
    )


def table(n: int = 200) -> sf.Microdata:
    return sf.Microdata.from_arrow(people(n), schema())


def release(labels: Labels = "ranges", **more: object) -> sf.GeneralizedTable:
    return sf.publish(
        table(),
        sf.Mondrian(),
        sf.KAnonymity(5) & sf.DistinctLDiversity(2),
        labels=labels,
        seed=long_seed(1),
    )


def test_columns_of_ranges() -> None:
    assert release().table.column_names == [
        "age_min", "age_max", "age_missing", "job_min", "job_max", "town", "disease", "visit",
    ]  # fmt: skip


def test_columns_of_labels() -> None:
    published = release("taxonomy").table
    assert "job" in published.column_names
    assert set(published["job"].to_pylist()) <= set(JOBS.labels)


@pytest.mark.parametrize("labels", ["ranges", "sets", "taxonomy", "text"])
def test_every_published_cell_covers_the_value_it_hides(labels: Labels) -> None:
    original = {row["visit"]: row for row in people().to_pylist()}
    for row in release(labels).table.to_pylist():
        hidden = original[row["visit"]]
        assert row["disease"] == hidden["disease"]
        if labels == "text":
            continue
        if hidden["age"] is None:
            assert row["age_missing"]
        else:
            assert row["age_min"] <= hidden["age"] <= row["age_max"]
        assert hidden["town"] in row["town"]
        if labels == "sets":
            assert hidden["job"] in row["job"]
        if labels == "taxonomy":
            node = JOBS.labels.index(row["job"])
            leaf = JOBS.leaves.index(hidden["job"])
            assert JOBS.first_leaf[node] <= leaf <= JOBS.last_leaf[node]


def test_text_cells_are_readable() -> None:
    small = pa.table({"age": [20, 30, None, None, 40, None], "sex": ["f", "m", "f", "f", "m", "m"]})
    data = sf.Microdata.from_arrow(small, sf.Schema(quasi=["age", "sex"]))

    @dataclass(frozen=True)
    class Pairs:
        name: ClassVar[str] = "pairs"
        form: ClassVar[str] = "generalized"

        def partition(
            self, table: sf.Microdata, needs: tuple[Requirement, ...], randomness: Randomness,
            progress: Progress | None = None,
        ) -> sf.Partition:  # fmt: skip
            return sf.Partition.of(np.array([0, 0, 1, 1, 2, 2], np.int32))

    cells = sf.publish(data, Pairs(), sf.KAnonymity(2), labels="text").table.to_pylist()
    assert {(row["age"], row["sex"]) for row in cells} == {
        ("[20, 30]", "{f, m}"),
        (None, "f"),
        ("40 or missing", "m"),
    }


def test_identifiers_are_in_no_file(tmp_path: Path) -> None:
    for file_format in ("parquet", "csv"):
        folder = release().write(tmp_path / file_format, format=file_format)
        for path in folder.iterdir():
            content = path.read_bytes()
            assert b"person-" not in content
            assert b'"name": "name"' not in content


def test_exact_values_inside_a_range_are_in_no_file(tmp_path: Path) -> None:
    # 26 letters in one group: only a and z may be seen, in the data pages, dictionaries, statistics
    letters = [chr(97 + i) * 3 for i in range(26)]
    data = sf.Microdata.from_arrow(
        pa.table({"letter": letters}), sf.Schema(quasi=["letter"], kinds={"letter": "categorical"})
    )
    ordered = sf.Microdata.from_arrow(
        pa.table({"letter": pa.array(range(1000, 1026))}), sf.Schema(quasi=["letter"])
    )
    assert data.n_rows == ordered.n_rows
    folder = sf.publish(ordered, sf.Mondrian(), sf.KAnonymity(26)).write(tmp_path / "out")
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    for value in range(1001, 1025):
        assert value.to_bytes(8, "little") not in content
        assert str(value).encode() not in content


def test_the_seed_is_not_written(tmp_path: Path) -> None:
    seed = long_seed(918_273_645)
    folder = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5), seed=seed).write(tmp_path / "out")
    for path in folder.iterdir():
        assert str(seed).encode() not in path.read_bytes()
        assert seed.to_bytes(32, "big") not in path.read_bytes()
        assert b"seed" not in path.read_bytes()


def test_a_seed_repeats_a_run_and_no_seed_does_not() -> None:
    def visits(seed: int | None) -> list[int]:
        made = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5), seed=seed)
        return made.table["visit"].to_pylist()  # type: ignore[no-any-return]

    assert visits(1) == visits(1)
    assert visits(1) != visits(2)
    assert visits(None) != visits(None)


def test_published_order_does_not_follow_the_input() -> None:
    # guessing that the earlier of two rows of a group came first is right half the time
    made = sf.publish(table(4000), sf.Mondrian(), sf.KAnonymity(5))
    visits = made.table["visit"].to_numpy()
    boxes = [tuple(map(str, row.values())) for row in
             made.table.drop_columns(["disease", "visit"]).to_pylist()]  # fmt: skip
    same = np.array([one == other for one, other in pairwise(boxes)])
    ascending = (np.diff(visits) > 0)[same]
    assert abs(ascending.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(ascending))
    # and groups stand together: one run of rows per group
    assert np.count_nonzero(~same) + 1 == made.manifest.groups


def test_manifest_states_promise_and_figures(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    stated = json.loads((folder / "release.json").read_text())
    assert stated["format"] == "sfumato-release"
    assert stated["promise"] == [
        {"model": "k-anonymity", "k": 5},
        {"model": "distinct-l-diversity", "l": 2, "on": "disease"},
    ]
    assert stated["rows"] == 200
    assert stated["metrics"]["group_sizes"]["smallest"] >= 5
    assert {"discernibility", "average_group_size", "ncp", "iloss"} <= set(stated["metrics"])


def test_parquet_has_no_metadata_of_its_own(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    metadata = pq.read_schema(folder / "generalized.parquet").metadata
    assert not metadata


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_load_gives_back_what_was_written(tmp_path: Path, file_format: str) -> None:
    made = release()
    made.write(tmp_path / "out", format=file_format)  # type: ignore[arg-type]
    loaded = sf.load(tmp_path / "out")
    assert isinstance(loaded, sf.GeneralizedTable)
    assert loaded.manifest.promise == made.manifest.promise
    assert loaded.table.num_rows == made.table.num_rows
    assert loaded.table["visit"].to_pylist() == made.table["visit"].to_pylist()
    if file_format == "parquet":
        assert loaded.table.equals(made.table)


def test_an_output_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    release().write(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(OutputExists):
        release().write(tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    release("text").write(tmp_path / "out", force=True)
    loaded = sf.load(tmp_path / "out")
    assert isinstance(loaded, sf.GeneralizedTable)
    assert "age" in loaded.table.column_names


def test_clashing_column_names_are_refused() -> None:
    clash = pa.table({"age": [1, 2], "age_min": ["a", "b"]})
    data = sf.Microdata.from_arrow(clash, sf.Schema(quasi=["age"], sensitive="age_min"))
    with pytest.raises(SchemaError, match="age_min"):
        sf.publish(data, sf.Mondrian(), sf.KAnonymity(2))


def test_means_only_of_numbers() -> None:
    with pytest.raises(ParameterError, match="job"):
        sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5), means=["job"])
    means = sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5), means=True).table
    assert "age_mean" in means.column_names
    for row in means.to_pylist():
        if row["age_mean"] is not None:
            assert row["age_min"] <= row["age_mean"] <= row["age_max"]


def test_unknown_labels_are_refused() -> None:
    with pytest.raises(ParameterError, match="rnages"):
        release("rnages")  # type: ignore[arg-type]


@dataclass(frozen=True)
class OneByOne:
    """An algorithm that lies: every row in a group of its own."""

    name: ClassVar[str] = "liar"
    form: ClassVar[str] = "generalized"

    def partition(
        self,
        table: sf.Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> sf.Partition:
        return sf.Partition.of(np.arange(table.n_rows, dtype=np.int32))


def test_an_algorithm_that_breaks_the_promise_publishes_nothing() -> None:
    with pytest.raises(PromiseBroken, match="groups break"):
        sf.publish(table(), OneByOne(), sf.KAnonymity(2))


@dataclass(frozen=True)
class AtMostHalf:
    """A user's own model: no value in more than half of a group."""

    def passes(self, groups: sf.Histograms) -> Flags:
        return 2 * groups.largest <= groups.sizes


def test_a_models_own_author_can_verify_it(tmp_path: Path) -> None:
    sf.publish(table(), sf.Mondrian(), AtMostHalf()).write(tmp_path / "out")
    assert not sf.verify(tmp_path / "out").ok
    assert sf.verify(tmp_path / "out", models=[AtMostHalf()]).ok


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "release.json").unlink(), "no release.json"),
        (lambda folder: (folder / "release.json").write_text("{"), "damaged"),
        (
            lambda folder: (folder / "release.json").write_text('{"format": "x"}'),
            "not the manifest",
        ),
        (lambda folder: (folder / "generalized.parquet").unlink(), "and not there"),
    ],
)
def test_damaged_folders_are_refused(tmp_path: Path, spoil: object, message: str) -> None:
    folder = release().write(tmp_path / "out")
    assert callable(spoil)
    spoil(folder)
    with pytest.raises(ReleaseError, match=message):
        sf.load(folder)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    stated = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps({**stated, "version": 99}))
    with pytest.raises(ReleaseError, match="99"):
        sf.load(folder)
