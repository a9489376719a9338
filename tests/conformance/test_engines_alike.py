"""Beyond memory a release is byte for byte the one that is made in memory.

For every algorithm that can plan, found by looking, with every built-in model; for every type that
a file may hold, in every role; for any number of parts and any memory that is enough. An algorithm
that states regions has other groups than in memory: they keep the promise, for any number of parts.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner, Planner
from sfumato.algorithms.mondrian import bins, node_counts, workload
from sfumato.algorithms.mondrian import regions as region_plan
from sfumato.algorithms.mondrian.planning import Planning
from sfumato.engines import domains, room, typed_rows
from sfumato.errors import Infeasible, OutOfMemory, ParameterError, SfumatoError, SfumatoWarning
from sfumato.forms.columns import Labels
from sfumato.models.base import BuiltIn
from sfumato.models.requirements import requirements
from sfumato.verbs import grouping
from tests.conformance.test_engines import CASES, ROLES, UNWRITABLE, WRITERS, case
from tests.support.algorithms import identify, partitioner_classes, variants
from tests.support.models import SETTINGS
from tests.support.seeds import long_seed

ROWS, CROWD = 420, 1500
SEED = long_seed(15)
LITTLE = 40_000  # bytes: regions of some fifty rows
SCHEMA = sf.Schema(
    quasi=["age", "town", "income", "job"], sensitive=["ill", "debt"], insensitive=["note"],
    orders={"job": ["cook", "nurse", "judge"]},
)  # fmt: skip


def people() -> pa.Table:
    chance = np.random.default_rng(5)
    ages = [None if chance.random() < 0.05 else int(age) for age in chance.integers(20, 60, ROWS)]
    return pa.table(
        {
            "age": pa.array(ages, pa.int8()),
            "town": chance.choice(["A", "B", "C", "D", "E"], ROWS, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
            "income": np.round(chance.normal(30, 9, ROWS), 1),
            "job": chance.choice(["cook", "nurse", "judge"], ROWS),
            "ill": chance.choice(["flu", "cold", "gout", "mumps"], ROWS),
            "debt": chance.integers(0, 1500, ROWS),
            "note": chance.choice(["x", "y"], ROWS),
        }
    )


def crowd() -> pa.Table:
    """Many people of few kinds: what methods of points need to have more than one region."""
    chance = np.random.default_rng(6)
    ages = [None if chance.random() < 0.02 else int(age) for age in chance.integers(20, 24, CROWD)]
    return pa.table(
        {
            "age": pa.array(ages, pa.int8()),
            "town": chance.choice(["A", "B", "C"], CROWD, p=[0.6, 0.395, 0.005]),
            "income": chance.integers(1, 3, CROWD).astype(float),
            "job": chance.choice(["cook", "nurse", "judge"], CROWD, p=[0.6, 0.38, 0.02]),
            "ill": chance.choice(["flu", "cold", "gout", "mumps"], CROWD),
            "debt": chance.integers(0, 2, CROWD),
            "note": chance.choice(["x", "y"], CROWD),
        }
    )


TABLES = {"people": people, "crowd": crowd}
WORKLOAD = [
    sf.Query({"age": sf.between(25, 40)}),
    sf.Query({"town": ["A", "C"], "income": sf.at_most(30)}),
    sf.Query({"job": ["cook"]}),
]
SERVING = (
    sf.Mondrian(workload=WORKLOAD),
    sf.Mondrian(workload=WORKLOAD, weights=[1, 9, 0.5], relaxed=True, choose="round-robin"),
)
LEAVING = (sf.FullDomain(suppress=0.1), sf.Subtree(suppress=0.1), sf.Sibling(suppress=0.1))


def planners() -> Iterator[Partitioner]:
    for algorithm in partitioner_classes():
        for variant in variants(algorithm):
            if _plans(variant, sf.KAnonymity(2)):
                yield variant


def _plans(algorithm: Partitioner, model: BuiltIn) -> bool:
    if not isinstance(algorithm, Planner):
        return False
    try:
        algorithm.require_planned(requirements(model, SCHEMA))
    except ParameterError:
        return False
    return True


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_STATE", "")
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", 61)
    warnings.simplefilter("ignore", SfumatoWarning)


@pytest.fixture(name="regions")
def _regions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many regions were divided, release by release."""
    counts: list[int] = []
    divided = grouping.divided

    def counting(part: pa.Table, number: int, recipe: grouping.Recipe) -> pa.Table:
        counts.extend([0] * (number == 0))
        counts[-1] += 1
        return divided(part, number, recipe)

    monkeypatch.setattr(grouping, "divided", counting)
    return counts


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


def made(source: Path, schema: sf.Schema, out: Path, **more: Any) -> dict[str, bytes] | str:
    """The files of a release, or why there is none.

    Those made beyond memory are verified, which is enough: the others are equal to them.
    """
    more = {"algorithm": sf.Mondrian(), "model": sf.KAnonymity(3), "seed": SEED, **more}
    try:
        manifest = sf.publish_file(source, schema, output=out, **more)
    except SfumatoError as error:
        assert not out.exists()
        return f"{type(error).__name__}: {error}"
    if more.get("engine") == "stream":
        sf.verify(out).require()
    return {**folder(out), "search": repr(manifest.search).encode()}


def streamed(source: Path, schema: sf.Schema, out: Path, **more: Any) -> dict[str, bytes] | str:
    """The same beyond memory, with the least memory that is said to be enough."""
    memory = LITTLE
    for _ in range(4):  # for counts, for combinations, for regions that cannot be cut; then enough
        found = made(source, schema, out, engine="stream", memory_limit=memory, **more)
        if not isinstance(found, str) or not found.startswith(OutOfMemory.__name__):
            break
        enough = re.search(r"allow ([\d,]+) bytes", found)
        memory = int(enough[1].replace(",", "")) if enough else 10 * memory
    return found


def stated(files: dict[str, bytes] | str) -> dict[str, Any]:
    """What release.json says."""
    assert isinstance(files, dict), files
    said: dict[str, Any] = json.loads(files["release.json"])
    return said


def test_some_algorithms_plan() -> None:
    assert {algorithm.name for algorithm in planners()} == {
        "mondrian", "branch-mondrian", "local-recoding", "full-domain", "subtree", "sibling",
        "topdown", "frontier", "anatomize",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("algorithm", "table"),
    [*product([*planners(), *SERVING], TABLES), *product(LEAVING, ["crowd"])],
    ids=identify,
)
def test_every_model_is_kept_by_the_same_groups(
    algorithm: Partitioner, table: str, regions: list[int], tmp_path: Path
) -> None:
    pq.write_table(TABLES[table](), tmp_path / "in.parquet")
    kept, left_out = 0, 0
    planned = [setting for setting in SETTINGS if _plans(algorithm, setting)]
    for number, model in enumerate(planned):
        how: dict[str, Any] = {"algorithm": algorithm, "model": model}
        memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / f"m{number}", **how)
        stream = streamed(tmp_path / "in.parquet", SCHEMA, tmp_path / f"s{number}", **how)
        if isinstance(stream, dict):
            kept += 1
            left_out += stated(stream)["suppressed"]
            if "regions" in stated(stream)["algorithm"]:
                continue  # the test below is for these
        assert memory == stream, model
    assert kept > len(planned) // 2
    assert (left_out > 0) == (algorithm in LEAVING)
    if table == "crowd":
        assert max(regions) > 1


@pytest.mark.parametrize(
    "algorithm",
    [one for one in planners() if isinstance(one, sf.Mondrian)],
    ids=identify,
)
def test_axes_that_are_counted_in_bins_are_cut_alike(
    algorithm: sf.Mondrian, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cuts at the median are those of memory; where another would have to do, that is said."""
    pq.write_table(people(), tmp_path / "in.parquet")
    monkeypatch.setattr(bins, "_WORTHWHILE", 3)
    monkeypatch.setattr(region_plan, "_bins", lambda axes, *_: bins.binned(axes))
    kept, refused = 0, 0
    planned = [setting for setting in SETTINGS if _plans(algorithm, setting)]
    for number, model in enumerate(planned):
        how: dict[str, Any] = {"algorithm": algorithm, "model": model}
        memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / f"m{number}", **how)
        stream = streamed(tmp_path / "in.parquet", SCHEMA, tmp_path / f"s{number}", **how)
        if "no cut at the median" in stream:
            assert algorithm.cuts == "all"
            refused += 1
            continue
        kept += isinstance(stream, dict)
        assert memory == stream, model
    assert kept > refused
    assert kept > len(planned) // 3


def test_too_many_values_of_an_ordered_axis_are_counted_in_bins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regions: list[int]
) -> None:
    """Whoever has a value of his own along an axis: memory for a few of them is enough."""
    chance = np.random.default_rng(2)
    table = pa.table({"x": chance.permutation(9000), "y": chance.permutation(9000) / 4})
    pq.write_table(table, tmp_path / "in.parquet")
    monkeypatch.setattr(room, "_LEAST_BYTES", 8 * 800)
    monkeypatch.setattr(typed_rows, "_BATCH_ROWS", 1000)
    schema = sf.Schema(quasi=["x", "y"])
    made_of: set[int] = set()

    def adding(
        one: node_counts.NodeCounts, other: node_counts.NodeCounts
    ) -> node_counts.NodeCounts:
        made_of.add(one.rows.shape[1])
        return add_counts(one, other)

    add_counts = node_counts.add_counts
    monkeypatch.setattr(node_counts, "add_counts", adding)
    few = {"model": sf.KAnonymity(200)}
    how: dict[str, Any] = {"engine": "stream", "memory_limit": 160_000, **few}
    memory = made(tmp_path / "in.parquet", schema, tmp_path / "m", **few)
    assert memory == made(tmp_path / "in.parquet", schema, tmp_path / "s", **how)
    assert made_of == {4 * 95}
    assert regions[-1] > 8
    sets = sf.Schema(quasi=["x", "y"], kinds={"x": "categorical"})
    refused = made(tmp_path / "in.parquet", sets, tmp_path / "r", **how)
    assert "counting 9,190 values of quasi-identifiers" in refused


@pytest.mark.parametrize("setting", SETTINGS, ids=identify)
def test_clusters_within_regions_keep_the_promise_whatever_the_parts(
    setting: BuiltIn, regions: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"algorithm": sf.TopDown(), "model": setting, "engine": "stream"}
    files = []
    for rows in (17, 61, ROWS):
        monkeypatch.setattr(domains, "PART_ROWS", rows)
        files.append(
            made(tmp_path / "in.parquet", SCHEMA, tmp_path / str(rows), memory_limit=200_000, **how)
        )
    assert files[0] == files[1] == files[2]
    if isinstance(files[0], dict):
        assert stated(files[0])["algorithm"].get("regions", 1) == regions[-1]


def test_there_are_regions_to_cluster(tmp_path: Path) -> None:
    """The control: the test above is about more than one region."""
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"algorithm": sf.TopDown(), "engine": "stream", "memory_limit": 200_000}
    files = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", **how)
    assert stated(files)["algorithm"]["regions"] > 1


@pytest.mark.parametrize("algorithm", [sf.LocalRecoding(), *LEAVING], ids=identify)
@pytest.mark.parametrize("parts", [1, 2, 7, 300])
def test_points_are_the_same_in_any_number_of_parts(
    parts: int, algorithm: Partitioner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(crowd(), tmp_path / "in.parquet", row_group_size=-(-CROWD // parts))
    monkeypatch.setattr(domains, "PART_ROWS", -(-CROWD // parts))
    model = sf.KAnonymity(20) & sf.DistinctLDiversity(3, on="ill")
    how: dict[str, Any] = {"algorithm": algorithm, "model": model}
    memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "m", **how)
    assert (stated(memory)["suppressed"] > 0) == (algorithm in LEAVING)
    assert memory == streamed(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", **how)


def test_nothing_is_told_of_a_missing_value_that_is_left_out(tmp_path: Path) -> None:
    table = pa.table({"age": [None] + [30, 40] * 50, "ill": ["flu", *["cold", "gout"] * 50]})
    pq.write_table(table, tmp_path / "in.parquet")
    tree = sf.Taxonomy.from_nested({"all": ["30", "40"]})
    schema = sf.Schema(quasi=["age"], sensitive="ill", taxonomies={"age": tree})
    how: dict[str, Any] = {"algorithm": sf.FullDomain(suppress=0.1)}
    memory = made(tmp_path / "in.parquet", schema, tmp_path / "m", **how)
    assert stated(memory)["suppressed"] == 1
    assert b"age_missing" not in memory["release.json"]  # type: ignore[index]
    assert memory == streamed(tmp_path / "in.parquet", schema, tmp_path / "s", **how)


def test_too_many_combinations_say_what_they_need(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"algorithm": sf.LocalRecoding(), "engine": "stream"}
    refused = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", memory_limit=LITTLE, **how)
    rows = people().select(SCHEMA.quasi).group_by(list(SCHEMA.quasi)).aggregate([]).num_rows
    assert f" {rows:,} different combinations" in str(refused)


@pytest.mark.parametrize(
    "algorithm",
    [sf.FullDomain(qids=[["age"], ["town"]]), sf.Mondrian(target="ill")],
    ids=["qids", "target"],
)
def test_what_needs_all_rows_says_so(algorithm: Partitioner, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"algorithm": algorithm, "model": sf.DistinctLDiversity(2)}
    refused = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", engine="stream", **how)
    assert str(refused).endswith("all rows in memory; use the in-memory engine")


def test_queries_are_weighed_by_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regions: list[int]
) -> None:
    """A sample of them, whichever part they are in."""
    monkeypatch.setattr(workload, "_SAMPLE", ROWS // 9)
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"algorithm": SERVING[0]}
    memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "m", **how)
    assert isinstance(memory, dict)
    assert memory == streamed(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", **how)
    assert max(regions) > 1
    usual = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "u")
    assert isinstance(usual, dict)
    assert memory["generalized.parquet"] != usual["generalized.parquet"]


def test_what_even_cuts_do_not_keep_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all that a round of cuts may come to, each is compared with memory."""
    came_to: set[str] = set()
    safe, along = Planning._safe, Planning._along

    def watching_safe(self: Planning, nodes: Any, cuts: Any) -> Any:
        found = safe(self, nodes, cuts)
        came_to.update("even" for _ in found)
        return found

    def watching_along(self: Planning, *given: Any) -> Any:
        found = along(self, *given)
        came_to.add("none" if found is None else "another")
        return found

    monkeypatch.setattr(Planning, "_safe", watching_safe)
    monkeypatch.setattr(Planning, "_along", watching_along)
    chance = np.random.default_rng(1)
    ages = chance.integers(20, 60, ROWS)
    ills = np.where(ages < 41, "flu", chance.choice(["cold", "gout", "mumps"], ROWS))
    table = people().set_column(0, "age", pa.array(ages)).set_column(4, "ill", pa.array(ills))
    pq.write_table(table, tmp_path / "in.parquet")
    for number, model in enumerate((sf.LDiversity(1.75), sf.TCloseness(0.3), sf.LDiversity(1.4))):
        how: dict[str, Any] = {"algorithm": sf.Mondrian(relaxed=True), "model": model}
        memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / f"m{number}", **how)
        stream = streamed(tmp_path / "in.parquet", SCHEMA, tmp_path / f"s{number}", **how)
        assert memory == stream
    assert came_to == {"even", "another", "none"}


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_the_number_of_parts_does_not_matter(
    parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=-(-ROWS // parts))
    monkeypatch.setattr(domains, "PART_ROWS", -(-ROWS // parts))
    files = [
        made(tmp_path / "in.parquet", SCHEMA, tmp_path / str(memory), engine="stream",
             memory_limit=memory)
        for memory in (LITTLE, 3 * LITTLE, 10**9)
    ]  # fmt: skip
    assert files[0] == files[1] == files[2]
    assert files[0] == made(tmp_path / "in.parquet", SCHEMA, tmp_path / "memory", engine="memory")


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("labels", ["ranges", "sets", "suppression", "text"])
def test_boxes_are_shown_alike(labels: Labels, format: str, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    how = {"labels": labels, "format": format, "means": labels != "suppression"}
    memory = made(tmp_path / "in.parquet", SCHEMA, tmp_path / "m", **how)
    how |= {"engine": "stream", "memory_limit": LITTLE}
    assert memory == made(tmp_path / "in.parquet", SCHEMA, tmp_path / "s", **how)
    assert isinstance(memory, dict)


def test_labels_of_a_tree_may_meet_from_several_regions(tmp_path: Path) -> None:
    """Groups that are alike to everybody outside are one, wherever they were made."""
    chance = np.random.default_rng(3)
    tree = {"all": {"low": ["a", "b"], "high": ["c", "d"]}}
    table = pa.table({"x": chance.choice(list("abcd"), ROWS), "s": chance.choice(list("uv"), ROWS)})
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["x"], sensitive="s", taxonomies={"x": sf.Taxonomy.from_nested(tree)})
    how: dict[str, Any] = {"labels": "taxonomy", "model": sf.KAnonymity(ROWS // 5)}
    memory = made(tmp_path / "in.parquet", schema, tmp_path / "m", **how)
    how |= {"engine": "stream", "memory_limit": LITTLE * 4}
    assert memory == made(tmp_path / "in.parquet", schema, tmp_path / "s", **how)
    assert isinstance(memory, dict)


@pytest.mark.parametrize(
    ("written", "role"),
    [*product(["parquet", "csv"], ROLES), ("arrow", ROLES[0]), ("stream", ROLES[1])],
)
def test_every_type_is_read_alike(written: str, role: str, tmp_path: Path) -> None:
    different, kept = [], 0
    for number, name in enumerate(CASES):
        if name in UNWRITABLE.get(written, ()):
            continue
        table, roles = case(name, role)
        source = WRITERS[written](table, tmp_path / f"in-{number}")
        memory = made(source, roles, tmp_path / f"m{number}", engine="memory")
        stream = made(source, roles, tmp_path / f"s{number}", engine="stream", memory_limit=LITTLE)
        kept += isinstance(memory, dict)
        if memory != stream:
            different.append((name, memory, stream))
    assert not different, different
    assert kept > len(CASES) // 2


def test_without_a_seed_two_releases_differ(tmp_path: Path) -> None:
    """The control: bytes are equal because of the seed, and not because nothing is random."""
    pq.write_table(people(), tmp_path / "in.parquet")
    how: dict[str, Any] = {"engine": "stream", "memory_limit": LITTLE, "seed": None}
    files = [made(tmp_path / "in.parquet", SCHEMA, tmp_path / name, **how) for name in "ab"]
    assert isinstance(files[0], dict)
    assert isinstance(files[1], dict)
    assert files[0]["generalized.parquet"] != files[1]["generalized.parquet"]


def test_a_region_that_cannot_be_cut_says_what_it_needs(tmp_path: Path) -> None:
    table = pa.table({"age": [40] * ROWS, "ill": ["flu", "cold"] * (ROWS // 2)})
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["age"], sensitive="ill")
    how: dict[str, Any] = {"engine": "stream", "model": sf.KAnonymity(2)}
    refused = made(tmp_path / "in.parquet", schema, tmp_path / "s", memory_limit=LITTLE, **how)
    assert isinstance(refused, str)
    assert refused.startswith("OutOfMemory")
    least = int(refused.rpartition("allow ")[2].removesuffix(" bytes").replace(",", ""))
    kept = made(tmp_path / "in.parquet", schema, tmp_path / "s", memory_limit=least, **how)
    assert isinstance(kept, dict)


def test_what_is_infeasible_is_refused_before_rows_are_spilled(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    with pytest.raises(Infeasible):
        sf.publish_file(
            tmp_path / "in.parquet", SCHEMA, sf.Mondrian(), sf.KAnonymity(ROWS + 1),
            tmp_path / "out", engine="stream",
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == [tmp_path / "in.parquet"]


@pytest.mark.parametrize("role", ["quasi", "sensitive", "insensitive"])
@pytest.mark.parametrize(
    "name", ["row", "quasi", "sensitive", "other0", "people", "word", "largest"]
)
def test_columns_may_have_the_names_of_our_own(name: str, role: str, tmp_path: Path) -> None:
    columns = {"age": [i % 20 for i in range(90)], "ill": [f"d{i % 5}" for i in range(90)]}
    table = pa.table({**columns, name: [i % 3 for i in range(90)]})
    pq.write_table(table, tmp_path / "in.parquet")
    roles: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "insensitive": []}
    roles[role] = [*roles[role], name]
    schema = sf.Schema(**roles)
    memory = made(tmp_path / "in.parquet", schema, tmp_path / "m")
    how: dict[str, Any] = {"engine": "stream", "memory_limit": LITTLE}
    assert memory == made(tmp_path / "in.parquet", schema, tmp_path / "s", **how)
    assert isinstance(memory, dict)


@pytest.mark.parametrize("written", WRITERS)
def test_a_table_without_rows_is_refused_alike(written: str, tmp_path: Path) -> None:
    source = WRITERS[written](people().slice(0, 0), tmp_path / "in")
    memory, stream = (
        made(source, SCHEMA, tmp_path / engine, engine=engine) for engine in ("memory", "stream")
    )
    assert isinstance(memory, str)
    assert memory == stream
