"""JAT and SI: what they say, and what they must not say, as an attacker would look for it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.errors import OutputExists, ParameterError, SchemaError
from sfumato.forms.files import FileFormat
from tests.support.seeds import long_seed

K = 5
N_PEOPLE, N_INSIDE = 3000, 600
SCHEMA = sf.Schema(identifiers=["name"], quasi=["age", "pay", "town"], sensitive=["disease"])
Method = sf.Direct | sf.Refinement
METHODS: list[Method] = [sf.Direct(sf.Mondrian()), sf.Refinement(sf.Mondrian())]


def people() -> pa.Table:
    """Everybody, with a disease that is nobody's business."""
    generator = np.random.default_rng(4)
    return pa.table(
        {
            "name": [f"person-{i:05}" for i in range(N_PEOPLE)],
            "age": generator.integers(18, 90, N_PEOPLE),
            "pay": generator.integers(0, 500, N_PEOPLE),
            "town": generator.choice([f"town-{i}" for i in range(6)], N_PEOPLE),
            "disease": [f"rumour-{i % 7}" for i in range(N_PEOPLE)],
        }
    )


def inside() -> Flags:
    """People of the microdata are old, so that boxes differ in how many they hold."""
    ages = people()["age"].to_numpy()
    chances = (ages - 17.0) ** 2
    chosen = np.random.default_rng(5).choice(
        N_PEOPLE, N_INSIDE, replace=False, p=chances / chances.sum()
    )
    flags = np.zeros(N_PEOPLE, np.bool_)
    flags[chosen] = True
    return flags


def microdata(schema: sf.Schema = SCHEMA) -> pa.Table:
    rows = people().filter(pa.array(inside()))
    generator = np.random.default_rng(6)
    diseases = generator.choice([f"disease-{i}" for i in range(5)], rows.num_rows)
    rows = rows.set_column(4, "disease", pa.array(diseases))
    return rows.append_column("salary", pa.array(generator.choice(["low", "high"], N_INSIDE)))


def release(method: Method | None = None, schema: sf.Schema = SCHEMA, **how: Any) -> sf.JoinRelease:
    table = sf.Microdata.from_arrow(microdata(), schema, id="name")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.publish_join(table, people(), method or METHODS[1], sf.KJoinAnonymity(K), **how)


def held(made: sf.JoinRelease) -> Counts:
    """The truth: how many rows of the microdata each group holds; boxes of Mondrian are apart."""
    counts = np.zeros(made.groups.num_rows, np.int64)
    boxes = made.groups.to_pylist()
    for row in microdata().to_pylist():
        homes = [
            place
            for place, box in enumerate(boxes)
            if box["age_min"] <= row["age"] <= box["age_max"]
            and box["pay_min"] <= row["pay"] <= box["pay_max"]
            and row["town"] in box["town"]
        ]
        assert len(homes) == 1
        counts[homes[0]] += 1
    return counts


@pytest.mark.parametrize("method", METHODS, ids=["direct", "refinement"])
def test_lines_of_a_group_are_equal_and_nothing_is_null(method: Method) -> None:
    made = release(method)
    quasi = ["age_min", "age_max", "pay_min", "pay_max", "town"]
    refined = isinstance(method, sf.Refinement)
    assert made.joined.column_names == [*quasi, *(["sensitive_group"] if refined else [])]
    assert all(column.null_count == 0 for column in made.joined.columns)
    lines = [str(line) for line in made.joined.to_pylist()]
    starts = [place for place in range(len(lines)) if lines[place] not in lines[:place]]
    assert len(starts) == made.manifest.groups
    for first, last in zip(starts, [*starts[1:], len(lines)], strict=True):
        assert len(set(lines[first:last])) == 1
        assert last - first >= K
    assert held(made).min() >= 1


def test_sensitive_groups_hold_the_rows_of_the_microdata() -> None:
    made = release()
    counts: dict[int, int] = {}
    for record in made.sensitive_groups.to_pylist():
        counts[record["sensitive_group"]] = (
            counts.get(record["sensitive_group"], 0) + record["count"]
        )
    own = dict.fromkeys(counts, 0)
    groups = made.groups["sensitive_group"].to_pylist()
    for group, rows in zip(groups, held(made).tolist(), strict=True):
        own[group] += rows
    assert own == counts
    assert min(counts.values()) >= K
    assert sorted(counts) == list(range(1, len(counts) + 1))


# The attacker orders the lines by something that the files show, takes as many of the first ones
# as there are rows in the microdata, and so guesses how many rows each box holds.

Order = Callable[[pa.Table, Path], Counts]


def by_position(joined: pa.Table, path: Path) -> Counts:
    return np.arange(joined.num_rows)


def by_reverse_position(joined: pa.Table, path: Path) -> Counts:
    return -np.arange(joined.num_rows)


def by_sensitive_group(joined: pa.Table, path: Path) -> Counts:
    numbers: Counts = joined["sensitive_group"].to_numpy().astype(np.int64)
    return numbers


def by_dictionary(joined: pa.Table, path: Path) -> Counts:
    """The place of a value in the dictionary of its column."""
    column = pq.read_table(path, columns=["age_max"])["age_max"].dictionary_encode()
    places: Counts = column.combine_chunks().indices.to_numpy().astype(np.int64)
    return places


def by_row_group(joined: pa.Table, path: Path) -> Counts:
    file = pq.ParquetFile(path).metadata
    sizes = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places: Counts = np.arange(joined.num_rows) - starts
    return places


ORDERS = [by_position, by_reverse_position, by_sensitive_group, by_dictionary, by_row_group]


def success(group_of_line: Counts, order: Counts, truth: Counts) -> float:
    """Share of the microdata's rows that the guess puts into the right box."""
    ranked = np.argsort(order, kind="stable")
    guess = np.bincount(group_of_line[ranked[: truth.sum()]], minlength=len(truth))
    return float(np.minimum(guess, truth).sum() / truth.sum())


def by_chance(group_of_line: Counts, truth: Counts, rounds: int = 60) -> Floats:
    """The same where groups stand in random orders."""
    generator = np.random.default_rng(9)
    orders = (generator.permutation(len(truth))[group_of_line] for _ in range(rounds))
    return np.array([success(group_of_line, order, truth) for order in orders])


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_no_order_in_the_files_tells_where_the_microdata_is(order: Order, tmp_path: Path) -> None:
    rates, chances = [], []
    for seed in range(6):
        made = release(seed=long_seed(seed))
        folder = made.write(tmp_path / str(seed))
        truth, lines = held(made), made.group_of_row.astype(np.int64)
        rates.append(success(lines, order(made.joined, folder / "joined.parquet"), truth))
        chances.append(by_chance(lines, truth))
    spread = np.sqrt(np.mean([np.var(one) for one in chances]) / len(rates))
    if order is by_sensitive_group or order is by_dictionary:
        spread *= 3  # whole runs of boxes move together
    assert abs(np.mean(rates) - np.mean(chances)) < 4 * spread


def test_the_same_attack_breaks_naive_publications() -> None:
    made = release()
    truth, lines = held(made), made.group_of_row.astype(np.int64)
    chance = by_chance(lines, truth)
    # rows as they come from the join: those of the microdata first
    joined_first = np.concatenate([np.repeat(np.arange(len(truth)), truth)])
    rest = np.repeat(np.arange(len(truth)), np.bincount(lines) - truth)
    naive = np.concatenate([joined_first, rest])
    assert success(naive, np.arange(len(naive)), truth) == 1
    # groups in the order of the algorithm, which cuts by age first
    ages = made.groups["age_min"].to_numpy()
    assert success(lines, -ages[lines], truth) > chance.mean() + 4 * chance.std()


@pytest.mark.slow
def test_numbers_of_groups_are_chance() -> None:
    # the algorithm's own numbers follow the cuts; published ones must not
    def slant(made: sf.JoinRelease, numbers: Counts) -> float:
        return float(np.corrcoef(numbers, made.groups["age_min"].to_numpy())[0, 1])

    made = [release(seed=seed) for seed in range(30)]
    places = [slant(one, np.arange(one.groups.num_rows)) for one in made]
    numbers = [slant(one, one.groups["sensitive_group"].to_numpy()) for one in made]
    for found in (places, numbers):
        assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(len(found))
    # control: numbers in the order of the cuts
    first = made[0]
    assert slant(first, np.argsort(np.argsort(first.groups["age_min"].to_numpy()))) > 0.9


def test_without_a_seed_the_order_differs_each_time() -> None:
    assert release().joined.to_pylist() != release().joined.to_pylist()
    assert release(seed=3).joined.to_pylist() == release(seed=3).joined.to_pylist()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("method", METHODS, ids=["direct", "refinement"])
def test_files_hold_nothing_but_what_they_show(
    method: Method, file_format: FileFormat, tmp_path: Path
) -> None:
    made = release(method)
    folder = made.write(tmp_path / "out", format=file_format)
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"person-" not in content  # nobody's id
    assert b"rumour-" not in content  # nobody's sensitive value from the external table
    assert b"salary" not in content
    if isinstance(method, sf.Direct):
        assert b"disease" not in content
    if file_format == "parquet":
        for path in folder.glob("*.parquet"):
            assert not pq.ParquetFile(path).metadata.metadata


def test_values_of_dropped_people_are_in_no_file(tmp_path: Path) -> None:
    # people of a far town, whose groups hold nobody of the microdata
    far = pa.table(
        {
            "name": [f"far-{i}" for i in range(40)],
            "age": [20 + i % 3 for i in range(40)],
            "pay": [9000 + i for i in range(40)],
            "town": ["faraway"] * 40,
        }
    )
    everybody = pa.concat_tables([people().drop_columns(["disease"]), far])
    table = sf.Microdata.from_arrow(microdata(), SCHEMA, id="name")
    for place, method in enumerate(METHODS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = sf.publish_join(table, everybody, method, sf.KJoinAnonymity(K))
        folder = made.write(tmp_path / str(place))
        assert not any(b"faraway" in path.read_bytes() for path in folder.iterdir())


def test_untrimmed_direct_depends_on_nothing_but_which_boxes_are_inhabited() -> None:
    """Two tables, of other people and of another size, in the same boxes: the same release."""
    everybody = people().drop_columns(["disease"])
    schema = sf.Schema(identifiers=["name"], quasi=["age", "pay", "town"])
    method = sf.Direct(sf.Mondrian(), trim=False)

    def made(rows: Counts) -> sf.JoinRelease:
        table = sf.Microdata.from_arrow(everybody.take(pa.array(rows)), schema, id="name")
        return sf.publish_join(table, everybody, method, sf.KJoinAnonymity(K), seed=1)

    first = made(np.flatnonzero(inside()))
    homes: dict[int, list[int]] = {}
    boxes = first.groups.to_pylist()
    for place, row in enumerate(everybody.to_pylist()):
        for number, box in enumerate(boxes):
            if (
                box["age_min"] <= row["age"] <= box["age_max"]
                and box["pay_min"] <= row["pay"] <= box["pay_max"]
                and row["town"] in box["town"]
            ):
                homes.setdefault(number, []).append(place)
    second = made(np.array([members[-1] for members in homes.values()]))
    lines = [sorted(map(str, one.joined.to_pylist())) for one in (first, second)]
    assert lines[0] == lines[1]
    assert first.manifest.to_json() == second.manifest.to_json()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("method", METHODS, ids=["direct", "refinement"])
def test_written_and_loaded(method: Method, file_format: FileFormat, tmp_path: Path) -> None:
    made = release(method)
    folder = made.write(tmp_path / "out", format=file_format)
    names = ["joined", *(["sensitive_groups"] if made.sis else [])]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["release.json", *(f"{name}.{file_format}" for name in names)]
    )
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.JoinRelease)
    assert loaded.own is None
    assert loaded.manifest == made.manifest
    shown = [name for name in made.joined.column_names if name != "town"]
    assert loaded.joined.select(shown).to_pylist() == made.joined.select(shown).to_pylist()
    assert {name: si.to_pylist() for name, si in loaded.sis.items()} == {
        name: si.to_pylist() for name, si in made.sis.items()
    }
    if file_format == "parquet":
        assert loaded.joined.to_pylist() == made.joined.to_pylist()
    assert sf.verify(folder).ok
    with pytest.raises(OutputExists):
        made.write(tmp_path / "out")
    assert "k-join-anonymity" in repr(loaded)


def test_several_sensitive_columns_share_the_groups(tmp_path: Path) -> None:
    schema = sf.Schema(
        identifiers=["name"], quasi=["age", "pay", "town"], sensitive=["disease", "salary"]
    )
    made = release(schema=schema)
    assert set(made.sis) == {"disease", "salary"}
    folder = made.write(tmp_path / "out")
    assert (folder / "sensitive_groups_disease.parquet").is_file()
    assert (folder / "sensitive_groups_salary.parquet").is_file()
    totals = [
        si.group_by("sensitive_group").aggregate([("count", "sum")]).sort_by("sensitive_group")
        for si in made.sis.values()
    ]
    assert totals[0]["count_sum"].to_pylist() == totals[1]["count_sum"].to_pylist()
    with pytest.raises(ParameterError, match="disease, salary"):
        _ = made.sensitive_groups
    assert sf.verify(folder).ok


def test_without_sensitive_columns_the_si_counts_rows(tmp_path: Path) -> None:
    schema = sf.Schema(identifiers=["name"], quasi=["age", "pay", "town"])
    made = release(schema=schema)
    assert made.sensitive_groups.column_names == ["sensitive_group", "count"]
    assert sum(made.sensitive_groups["count"].to_pylist()) == N_INSIDE
    assert sf.verify(made.write(tmp_path / "out")).ok
    with pytest.raises(ParameterError, match="Refinement"):
        _ = release(METHODS[0]).sensitive_groups


def test_owners_figures_are_in_no_file(tmp_path: Path) -> None:
    made = release(METHODS[0])
    assert made.own is not None
    stated = json.loads((made.write(tmp_path / "out") / "release.json").read_text())
    assert "own" not in stated
    numbers = [value for value in _numbers(stated) if value == N_INSIDE]
    assert not numbers
    assert made.own.ncp not in _numbers(stated)


def _numbers(stated: Any) -> list[float]:
    if isinstance(stated, dict):
        return [one for value in stated.values() for one in _numbers(value)]
    if isinstance(stated, list):
        return [one for value in stated for one in _numbers(value)]
    return [stated] if isinstance(stated, int | float) else []


def test_clashing_names_are_refused() -> None:
    columns = {"name": ["a", "b"], "sensitive_group": ["x", "y"], "v": ["p", "q"]}
    schema = sf.Schema(identifiers=["name"], quasi=["sensitive_group"], sensitive="v")
    table = sf.Microdata.from_arrow(pa.table(columns), schema, id="name")
    with pytest.raises(SchemaError, match="sensitive_group"):
        sf.publish_join(
            table, pa.table(columns), sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(2)
        )


@pytest.mark.parametrize("name", ["a/b", "../up", "50%", "back\\slash"])
def test_a_column_may_be_called_like_no_file_can(tmp_path: Path, name: str) -> None:
    columns = {
        "id": list(range(12)),
        "x": [1, 2, 3, 4] * 3,
        name: ["a", "b", "c"] * 4,
        "other": ["d", "e"] * 6,
    }
    schema = sf.Schema(identifiers=["id"], quasi=["x"], sensitive=[name, "other"])
    table = sf.Microdata.from_arrow(pa.table(columns), schema, id="id")
    voters = pa.table({"id": list(range(40)), "x": [1, 2, 3, 4] * 10})
    made = sf.publish_join(table, voters, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(3))
    made.write(tmp_path / "out")
    assert sf.load(tmp_path / "out").sis[name].equals(made.sis[name])  # type: ignore[union-attr]
    assert sf.verify(tmp_path / "out").ok
    assert {path.parent for path in tmp_path.rglob("*.parquet")} == {tmp_path / "out"}
