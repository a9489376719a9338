"""An anatomized release beyond memory keeps what one made in memory keeps, or is not there."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.choice import Engine
from sfumato.errors import Infeasible, OutputExists, SchemaError
from sfumato.forms.manifest import Manifest
from sfumato.models.base import Model
from tests.support.seeds import long_seed
from tests.support.waiting import PATIENCE

L = 5
DISEASES = [f"disease-{i:02}" for i in range(12)]
SCHEMA = sf.Schema(
    identifiers=["name"], quasi=["age", "town"], sensitive="disease", insensitive=["visit"]
)
# Blocks of some dozen rows: everything happens many times.
TINY = 65_536


def patients(n: int = 3003) -> pa.Table:
    """Rows in the order of their disease: the worst input order one can have."""
    generator = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"person-{i:05}" for i in range(n)],
            "age": generator.integers(18, 90, n),
            "town": [f"town-{i}" for i in generator.integers(0, 30, n)],
            "disease": np.sort(generator.choice(DISEASES, n)),
            "visit": np.arange(n),
        }
    )


def anatomize_file(
    source: Path,
    output: Path,
    *,
    schema: sf.Schema = SCHEMA,
    model: Model | None = None,
    force: bool = False,
    seed: int | None = None,
    memory_limit: int = TINY,
    progress: Callable[[str, float], None] | None = None,
) -> Manifest:
    return sf.publish_file(
        source, schema, sf.Anatomize(near=False), model or sf.LDiversity(L), output,
        engine="stream", seed=None if seed is None else long_seed(seed), force=force,
        memory_limit=memory_limit, progress=progress,
    )  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(patients(), path, row_group_size=500)
    return path


@pytest.fixture
def made(source: Path, tmp_path: Path) -> sf.AnatomizedTables:
    anatomize_file(source, tmp_path / "out")
    release = sf.load(tmp_path / "out")
    assert isinstance(release, sf.AnatomizedTables)
    return release


def spill(temp: Path, pid: int) -> int:
    """How much has been spilled, to files with a name or, where that can be seen, without one."""
    named = sum(file.stat().st_size for file in (temp / "spill").iterdir())
    handles = Path(f"/proc/{pid}/fd")
    if not handles.is_dir():
        return named
    assert named == 0, "raw rows that a killed run would leave"
    inside = str(temp.resolve() / "spill")
    opened = {str(one.readlink()): one for one in handles.iterdir() if one.is_symlink()}
    return sum(one.stat().st_size for name, one in opened.items() if name.startswith(inside))


def test_it_verifies_and_spills(source: Path, tmp_path: Path) -> None:
    spilled: list[int] = []

    def watch(stage: str, share: float) -> None:
        if stage == "writing" and share < 1:
            (temp,) = tmp_path.glob(".out.sfumato-*.new")
            assert stat.S_IMODE((temp / "spill").stat().st_mode) == 0o700
            spilled.append(spill(temp, os.getpid()))

    manifest = anatomize_file(source, tmp_path / "out", progress=watch)
    assert len(spilled) > 20
    assert min(spilled) > 10_000
    checked = sf.verify(tmp_path / "out").require()
    assert checked.rows == manifest.rows == 3003
    assert checked.groups == manifest.groups
    # a block has less than l rows over
    blocks = manifest.algorithm["blocks"]
    assert 3003 // L - blocks < manifest.groups <= 3003 // L
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "qit.parquet",
        "release.json",
        "st.parquet",
    ]


def test_tables_hold_what_definition_3_says(made: sf.AnatomizedTables) -> None:
    assert made.qit.column_names == ["age", "town", "visit", "group_id"]
    assert made.st.column_names == ["group_id", "disease", "count"]
    original = {row["visit"]: row for row in patients().to_pylist()}
    in_groups: Counter[tuple[int, str]] = Counter()
    for row in made.qit.to_pylist():
        hidden = original.pop(row["visit"])
        assert (row["age"], row["town"]) == (hidden["age"], hidden["town"])
        in_groups[row["group_id"], hidden["disease"]] += 1
    assert not original
    stated = {(row["group_id"], row["disease"]): row["count"] for row in made.st.to_pylist()}
    assert stated == in_groups
    assert set(stated.values()) == {1}
    groups = made.qit["group_id"].to_numpy()
    assert sorted(set(groups)) == list(range(1, groups.max() + 1))
    assert np.all(np.diff(groups) >= 0)
    records = [(row["group_id"], row["disease"]) for row in made.st.to_pylist()]
    assert records == sorted(records)


def test_files_hold_no_metadata(made: sf.AnatomizedTables, tmp_path: Path) -> None:
    for name in ("qit.parquet", "st.parquet"):
        assert pq.read_metadata(tmp_path / "out" / name).metadata is None


def test_position_does_not_tell_the_input_order(source: Path, tmp_path: Path) -> None:
    correlations = []
    for run in range(5):
        anatomize_file(source, tmp_path / f"out-{run}")
        visits = pq.read_table(tmp_path / f"out-{run}" / "qit.parquet")["visit"].to_numpy()
        correlations.append(np.corrcoef(visits, np.arange(len(visits)))[0, 1])
        # nor do neighbours in the input stay neighbours (they would be in one block)
        assert np.mean(np.abs(np.diff(visits)) == 1) < 0.01
    # the standard error of one is 1 / sqrt(3003); inside a group it must not be seen either
    assert abs(np.mean(correlations)) < 4.5 / np.sqrt(5 * 3003)


@pytest.mark.slow
@pytest.mark.parametrize("memory_limit", [TINY, 2**30], ids=["many blocks", "one block"])
def test_numbers_of_groups_do_not_tell_when_they_were_made(
    source: Path, tmp_path: Path, memory_limit: int
) -> None:
    # groups with frequent values are made first
    frequent = Counter(patients()["disease"].to_pylist()).most_common(1)[0][0]
    means = []
    for run in range(8):
        manifest = anatomize_file(source, tmp_path / f"out-{run}", memory_limit=memory_limit)
        st = pq.read_table(tmp_path / f"out-{run}" / "st.parquet")
        groups = st.filter(pa.compute.equal(st["disease"], frequent))["group_id"].to_numpy()
        means.append(np.mean(groups) / manifest.groups)
    assert abs(np.mean(means) - 0.5) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["same place", "same place from the end"])
def test_aligning_the_tables_by_position_is_guessing(
    source: Path, tmp_path: Path, attack: str
) -> None:
    truth = np.array(patients()["disease"].to_pylist())
    hits = tries = 0
    for run in range(5):
        anatomize_file(source, tmp_path / f"out-{run}")
        qit = pq.read_table(tmp_path / f"out-{run}" / "qit.parquet")
        st = pq.read_table(tmp_path / f"out-{run}" / "st.parquet")
        visits, groups = qit["visit"].to_numpy(), qit["group_id"].to_numpy()
        guesses = np.array(st["disease"].to_pylist())
        if attack == "same place from the end":
            ends = np.flatnonzero(np.diff(groups, append=-1)) + 1
            places = np.concatenate([np.arange(b)[a:][::-1] for a, b in zip([0, *ends], ends)])  # noqa: B905
            guesses = guesses[places]
        hits += int(np.sum(guesses == truth[visits]))
        tries += len(visits)
    share, chance = hits / tries, 1 / L
    # every group has at least L records, nearly all exactly L
    assert share < chance + 4.5 * np.sqrt(chance * (1 - chance) / tries)
    assert share > 0.8 * chance


@pytest.mark.parametrize("memory_limit", [TINY, 2**30], ids=["many blocks", "one block"])
def test_rows_meet_in_a_group_by_chance(source: Path, tmp_path: Path, memory_limit: int) -> None:
    # how far down the list of its disease a row stands, averaged over its group: were rows dealt
    # in the order of the file, first ones would meet first ones
    diseases = np.array(patients()["disease"].to_pylist())
    ranks = np.empty(len(diseases))
    for disease in DISEASES:
        same = np.flatnonzero(diseases == disease)
        ranks[same] = (np.arange(len(same)) + 0.5) / len(same)
    variances = []
    for run in range(5):
        anatomize_file(source, tmp_path / f"out-{run}", memory_limit=memory_limit)
        qit = pq.read_table(tmp_path / f"out-{run}" / "qit.parquet")
        groups, seen = qit["group_id"].to_numpy(), ranks[qit["visit"].to_numpy()]
        means = np.bincount(groups, weights=seen)[1:] / np.bincount(groups)[1:]
        variances.append(np.var(means))
    by_chance = 1 / 12 / L
    assert abs(np.mean(variances) / by_chance - 1) < 0.15


def test_a_seed_decides_the_files(source: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8), ("d", None), ("e", None)):
        anatomize_file(source, tmp_path / name, seed=seed)
    files = {
        name: [(tmp_path / name / file).read_bytes() for file in ("qit.parquet", "st.parquet")]
        for name in "abcde"
    }
    assert files["a"] == files["b"]
    assert len({files[name][0] for name in "acde"}) == 4


@pytest.mark.parametrize("residue", range(L))
def test_residue_joins_groups_that_lack_its_value(tmp_path: Path, residue: int) -> None:
    table = patients(500 + residue)
    pq.write_table(table, tmp_path / "in.parquet")
    anatomize_file(tmp_path / "in.parquet", tmp_path / "out")
    sf.verify(tmp_path / "out").require()
    st = pq.read_table(tmp_path / "out" / "st.parquet")
    assert set(st["count"].to_pylist()) == {1}
    assert st.num_rows == 500 + residue
    assert Counter(st["disease"].to_pylist()) == Counter(table["disease"].to_pylist())
    assert min(Counter(st["group_id"].to_pylist()).values()) == L


def test_missing_values_are_values(tmp_path: Path) -> None:
    n = 600
    table = pa.table(
        {
            "age": [None if i % 3 == 0 else i % 50 for i in range(n)],
            "town": [None if i % 7 == 0 else "t" for i in range(n)],
            "disease": [None if i % 6 == 0 else f"d{i % 6}" for i in range(n)],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    schema = sf.Schema(quasi=["age", "town"], sensitive="disease")
    anatomize_file(tmp_path / "in.parquet", tmp_path / "out", schema=schema)
    sf.verify(tmp_path / "out").require()
    qit = pq.read_table(tmp_path / "out" / "qit.parquet")
    st = pq.read_table(tmp_path / "out" / "st.parquet")
    rows = Counter(zip(qit["age"].to_pylist(), qit["town"].to_pylist(), strict=True))
    assert rows == Counter(zip(table["age"].to_pylist(), table["town"].to_pylist(), strict=True))
    assert Counter(st["disease"].to_pylist()) == Counter(table["disease"].to_pylist())


def test_csv_gives_the_same_tables(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(patients(), tmp_path / "in.csv")
    anatomize_file(tmp_path / "in.csv", tmp_path / "out")
    sf.verify(tmp_path / "out").require()
    qit = pq.read_table(tmp_path / "out" / "qit.parquet")
    assert (
        qit.sort_by("visit")
        .drop_columns("group_id")
        .equals(patients().select(["age", "town", "visit"]))
    )


def test_declared_orders_are_published(tmp_path: Path, source: Path) -> None:
    backwards = DISEASES[::-1]
    schema = sf.Schema(
        quasi=["age", "town"],
        sensitive="disease",
        orders={"disease": backwards, "town": [f"town-{i}" for i in range(30)]},
    )
    anatomize_file(source, tmp_path / "out", schema=schema)
    sf.verify(tmp_path / "out").require()
    release = sf.load(tmp_path / "out")
    assert release.manifest.of_role("sensitive")[0].order == tuple(backwards)
    assert release.manifest.of_role("quasi")[1].order == tuple(f"town-{i}" for i in range(30))


def test_infeasible_writes_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(Infeasible, match="largest feasible l is") as caught:
        anatomize_file(source, tmp_path / "deep" / "out", model=sf.LDiversity(13))
    assert caught.value.value in DISEASES
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_former_release_stays_unless_forced(source: Path, tmp_path: Path) -> None:
    anatomize_file(source, tmp_path / "out", seed=1)
    before = (tmp_path / "out" / "qit.parquet").read_bytes()
    with pytest.raises(OutputExists):
        anatomize_file(source, tmp_path / "out", seed=2)
    with pytest.raises(Infeasible):
        anatomize_file(source, tmp_path / "out", model=sf.LDiversity(13), force=True)
    assert (tmp_path / "out" / "qit.parquet").read_bytes() == before
    anatomize_file(source, tmp_path / "out", seed=2, force=True)
    assert (tmp_path / "out" / "qit.parquet").read_bytes() != before


@pytest.mark.parametrize("name", ["group_id", "count"])
def test_names_of_our_own_are_refused(tmp_path: Path, name: str) -> None:
    pq.write_table(patients().rename_columns({"age": name}), tmp_path / "in.parquet")
    schema = sf.Schema(quasi=[name, "town"], sensitive="disease")
    with pytest.raises(SchemaError, match="clash"):
        anatomize_file(tmp_path / "in.parquet", tmp_path / "out", schema=schema)


@pytest.mark.parametrize(
    "stage", ["counting values", "encoding", "spilling", "dividing", "writing"]
)
def test_an_interrupted_run_leaves_nothing(source: Path, tmp_path: Path, stage: str) -> None:
    def interrupt(now: str, share: float) -> None:
        if now == stage and share >= 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anatomize_file(source, tmp_path / "out", progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


_KILLED = """
import sys, time
import sfumato as sf

def wait(stage, share):
    if stage == "writing" and share > 0.5:
        print("half", flush=True)
        time.sleep(600)

schema = sf.Schema(
    identifiers=["name"], quasi=["age", "town"], sensitive="disease", insensitive=["visit"]
)
sf.publish_file(
    sys.argv[1], schema, sf.Anatomize(near=False), sf.LDiversity(5), sys.argv[2],
    engine="stream", memory_limit=65_536, progress=wait,
)
"""


@pytest.mark.slow
def test_a_killed_run_is_cleared_up_by_the_next(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(source), str(out)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "half\n"
        (temp,) = tmp_path.glob(".out.sfumato-*")
        assert spill(temp, child.pid) > 10_000
        os.kill(child.pid, signal.SIGKILL)
        child.wait(PATIENCE)
    assert not out.exists()
    (leftover,) = tmp_path.glob(".out.sfumato-*")
    if Path("/proc/self/fd").is_dir():
        assert list((leftover / "spill").iterdir()) == []
    anatomize_file(source, tmp_path / "another")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "in.parquet"]
    sf.verify(tmp_path / "another").require()


def test_options_of_boxes_change_nothing_in_any_engine(tmp_path: Path) -> None:
    """A seed is bound to all that has an effect, and to nothing else."""
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"age": range(40), "ill": [i % 4 for i in range(40)]}), source)
    schema, found = sf.Schema(quasi=["age"], sensitive="ill"), []
    options: list[dict[str, Any]] = [{}, {"labels": "sets", "means": True}]
    engines: tuple[Engine, ...] = ("memory", "stream")
    for number, (engine, more) in enumerate(product(engines, options)):
        out = tmp_path / str(number)
        sf.publish_file(
            source, schema, sf.Anatomize(), sf.LDiversity(2), out, seed=long_seed(1),
            engine=engine, **more,
        )  # fmt: skip
        found.append({file.name: file.read_bytes() for file in out.iterdir()})
    assert found[0] == found[1] == found[2] == found[3]
