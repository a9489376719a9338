"""QIT and ST: what they say, what they must not say, and how they are stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.arrays import Codes
from sfumato.errors import Infeasible, ParameterError, SchemaError
from tests.support.sealing import reseal

L = 5
DISEASES = [f"disease-{i:02}" for i in range(12)]


def patients(n: int = 3000) -> pa.Table:
    """Rows in the order of their disease: the worst input order one can have."""
    generator = np.random.default_rng(4)
    disease = np.sort(generator.choice(DISEASES, n))
    return pa.table(
        {
            "name": [f"person-{i:05}" for i in range(n)],
            "age": generator.integers(18, 90, n),
            "town": generator.choice([f"town-{i}" for i in range(30)], n),
            "disease": disease,
            "visit": np.arange(n),
        }
    )


SCHEMA = sf.Schema(
    identifiers=["name"], quasi=["age", "town"], sensitive="disease", insensitive=["visit"]
)


def table(n: int = 3000) -> sf.Microdata:
    return sf.Microdata.from_arrow(patients(n), SCHEMA)


def release(seed: int | None = None) -> sf.AnatomizedTables:
    return sf.publish(table(), sf.Anatomize(near=False), sf.LDiversity(L), seed=seed)


def test_tables_hold_what_definition_3_says() -> None:
    made = release()
    assert made.qit.column_names == ["age", "town", "visit", "group_id"]
    assert made.st.column_names == ["group_id", "disease", "count"]
    original = {row["visit"]: row for row in patients().to_pylist()}
    in_groups: Counter[tuple[int, str]] = Counter()
    for row in made.qit.to_pylist():
        hidden = original[row["visit"]]
        assert (row["age"], row["town"]) == (hidden["age"], hidden["town"])
        in_groups[row["group_id"], hidden["disease"]] += 1
    stated = {(row["group_id"], row["disease"]): row["count"] for row in made.st.to_pylist()}
    assert stated == in_groups
    assert set(stated.values()) == {1}


def test_group_numbers_count_from_one_without_gaps() -> None:
    groups = release().qit["group_id"].to_numpy()
    assert sorted(set(groups)) == list(range(1, groups.max() + 1))


def test_group_numbers_are_a_random_relabelling() -> None:
    # the algorithm makes its groups in an order that depends on the data; the labels must not
    rarest = [
        np.mean(made.st.filter(pa.compute.equal(made.st["disease"], DISEASES[0]))["group_id"])
        for made in (release(seed) for seed in range(8))
    ]
    n_groups = release(0).manifest.groups
    assert abs(np.mean(rarest) / n_groups - 0.5) < 0.05


# The attacker knows the file format, orders the rows of each group by something the file shows,
# and pairs the i-th row with the i-th record of the group in the ST.

Order = Callable[[pa.Table, Path], Codes]


def by_position(qit: pa.Table, path: Path) -> Codes:
    return np.arange(qit.num_rows, dtype=np.int32)


def by_reverse_position(qit: pa.Table, path: Path) -> Codes:
    return -by_position(qit, path)


def by_dictionary(qit: pa.Table, path: Path) -> Codes:
    columns = pq.read_table(path, read_dictionary=["town"])["town"].combine_chunks()
    return np.asarray(columns.indices, np.int32)


def by_sorted_values(qit: pa.Table, path: Path) -> Codes:
    return np.asarray(qit["age"].to_numpy(), np.int32)


def by_row_group(qit: pa.Table, path: Path) -> Codes:
    file = pq.ParquetFile(path).metadata
    sizes = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.arange(qit.num_rows) - starts, np.int32)


def success(qit: pa.Table, st: pa.Table, order: Codes) -> float:
    """Share of rows whose disease the pairing names."""
    truth = np.array(patients()["disease"].to_pylist())[qit["visit"].to_numpy()]
    ranked = np.lexsort((order, qit["group_id"].to_numpy()))
    guesses = np.repeat(np.array(st["disease"].to_pylist()), st["count"].to_numpy())
    return float(np.mean(truth[ranked] == guesses))


@pytest.mark.parametrize(
    "order", [by_position, by_reverse_position, by_dictionary, by_sorted_values, by_row_group]
)
def test_no_order_in_the_files_aligns_the_tables(order: Order, tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.AnatomizedTables)
    rate = success(loaded.qit, loaded.st, order(loaded.qit, folder / "qit.parquet"))
    sigma = np.sqrt(1 / L * (1 - 1 / L) / loaded.qit.num_rows)
    assert rate < 1 / L + 4 * sigma


def test_the_same_attack_breaks_a_naive_publication(tmp_path: Path) -> None:
    # rows as they came, sorted by group: the input order survives inside the groups
    made = release()
    naive = made.qit.sort_by([("group_id", "ascending"), ("visit", "ascending")])
    assert success(naive, made.st, by_position(naive, tmp_path)) > 0.95


def test_statistics_say_no_more_than_the_rows(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    metadata = pq.ParquetFile(folder / "qit.parquet").metadata
    assert not metadata.metadata
    content = (folder / "qit.parquet").read_bytes() + (folder / "release.json").read_bytes()
    assert not any(name.encode() in content for name in DISEASES)
    assert b"person-" not in content


def test_lemma_1_join() -> None:
    made = release()
    joined = made.join().read_all()
    assert joined.column_names == [*made.qit.column_names, "disease", "count", "probability"]
    sizes = Counter(made.qit["group_id"].to_pylist())
    distinct = Counter(made.st["group_id"].to_pylist())
    assert joined.num_rows == sum(sizes[g] * distinct[g] for g in sizes)
    assert max(joined["probability"].to_pylist()) <= 1 / L
    totals: Counter[int] = Counter()
    for row in joined.to_pylist():
        totals[row["visit"]] += row["probability"]
    assert list(totals.values()) == pytest.approx([1.0] * made.qit.num_rows)


def test_the_join_is_lazy() -> None:
    reader = sf.publish(table(200_000), sf.Anatomize(), sf.LDiversity(L)).join()
    assert reader.read_next_batch().num_rows < 200_000 * L


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_written_and_loaded(tmp_path: Path, file_format: str) -> None:
    made = release()
    folder = made.write(tmp_path / "out", format=file_format)  # type: ignore[arg-type]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [f"qit.{file_format}", f"st.{file_format}", "release.json"]
    )
    loaded = sf.load(folder)
    assert isinstance(loaded, sf.AnatomizedTables)
    assert loaded.qit.to_pylist() == made.qit.to_pylist()
    assert loaded.st.to_pylist() == made.st.to_pylist()
    assert sf.verify(folder).require().groups == made.manifest.groups


def test_any_partition_can_be_anatomized(tmp_path: Path) -> None:
    made = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), form="anatomized")
    assert isinstance(made, sf.AnatomizedTables)
    made.write(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    boxes = sf.publish(table(), sf.Anatomize(), sf.LDiversity(L), form="generalized")
    assert isinstance(boxes, sf.GeneralizedTable)


def several() -> sf.Microdata:
    generator = np.random.default_rng(8)
    n = 1000
    return sf.Microdata.from_arrow(
        pa.table(
            {
                "age": generator.integers(0, 90, n),
                "disease": generator.choice(DISEASES, n),
                "salary": generator.choice(["low", "middle", "high", "top"], n),
            }
        ),
        sf.Schema(quasi=["age"], sensitive=["disease", "salary"]),
    )


def test_several_sensitive_attributes_share_the_groups(tmp_path: Path) -> None:
    made = sf.publish(several(), sf.Anatomize(), sf.LDiversity(3))
    assert set(made.sts) == {"disease", "salary"}
    folder = made.write(tmp_path / "out")
    assert (folder / "st_disease.parquet").is_file()
    assert (folder / "st_salary.parquet").is_file()
    promises = [check for check in sf.verify(folder).require().checks if "(" in check.statement]
    assert len(promises) == 2
    with pytest.raises(ParameterError, match="disease, salary"):
        _ = made.st
    with pytest.raises(ParameterError, match="join"):
        made.join()
    assert made.join("salary").read_next_batch().num_rows


def test_an_infeasible_attribute_is_named() -> None:
    with pytest.raises(Infeasible, match="'salary'") as raised:
        sf.publish(several(), sf.Anatomize(), sf.LDiversity(6))
    assert raised.value.largest == 3


def test_what_anatomy_cannot_promise_is_refused() -> None:
    with pytest.raises(ParameterError, match="k-anonymity is not a promise of this form"):
        sf.publish(table(), sf.Anatomize(), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="k-anonymity is not a promise of this form"):
        sf.publish(table(), sf.Anatomize(), sf.KAnonymity(5) & sf.LDiversity(2))
    bare = sf.Microdata.from_arrow(patients(), sf.Schema(quasi=["age"]))
    with pytest.raises(SchemaError, match="sensitive"):
        sf.publish(bare, sf.Anatomize(), sf.LDiversity(5))


def test_a_continuous_sensitive_attribute_wants_bins() -> None:
    pay = pa.table({"age": list(range(100)), "pay": [1000 + 0.1 * i for i in range(100)]})
    exact = sf.Microdata.from_arrow(pay, sf.Schema(quasi=["age"], sensitive="pay"))
    with pytest.raises(SchemaError, match=r"bins = 50 under \[attributes.pay\]"):
        sf.publish(exact, sf.Anatomize(), sf.LDiversity(2))
    schema = sf.Schema(quasi=["age"], sensitive="pay", bins={"pay": 5})
    binned = sf.publish(
        sf.Microdata.from_arrow(pay, schema), sf.Anatomize(near=False), sf.LDiversity(4)
    )
    assert binned.manifest.groups == 25


def test_a_clashing_name_is_refused() -> None:
    clash = pa.table({"group_id": [1, 2], "s": ["a", "b"]})
    data = sf.Microdata.from_arrow(clash, sf.Schema(quasi=["group_id"], sensitive="s"))
    with pytest.raises(SchemaError, match="group_id"):
        sf.publish(data, sf.Anatomize(), sf.LDiversity(2))


def spoiled(tmp_path: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> str:
    """Change a table of a written release; what verify says."""
    folder = release().write(tmp_path / "out")
    pq.write_table(change(pq.read_table(folder / name)), folder / name)
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


def test_tables_that_do_not_fit_are_caught(tmp_path: Path) -> None:
    def more(st: pa.Table) -> pa.Table:
        counts = st["count"].to_pylist()
        return st.set_column(2, "count", pa.array([2, *counts[1:]]))

    assert "group 1 has more or fewer rows" in spoiled(tmp_path / "a", "st.parquet", more)
    assert "different groups" in spoiled(
        tmp_path / "b", "st.parquet", lambda st: st.filter(pa.compute.greater(st["group_id"], 1))
    )
    assert "not in the order" in spoiled(
        tmp_path / "c", "st.parquet", lambda st: st.take(list(range(st.num_rows))[::-1])
    )
    assert "not ordered by group" in spoiled(
        tmp_path / "d", "qit.parquet", lambda qit: qit.take(list(range(qit.num_rows))[::-1])
    )
    assert "'disease' is published but not declared" in spoiled(
        tmp_path / "e", "qit.parquet", lambda qit: qit.append_column("disease", qit["town"])
    )


def test_a_broken_promise_names_the_group(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    stated = json.loads((folder / "release.json").read_text())
    stated["promise"][0]["l"] = L + 1
    (folder / "release.json").write_text(json.dumps(stated))
    reseal(folder)
    check = sf.verify(folder).checks[-1]
    assert not check.kept
    assert check.detail.startswith("group 1 of 5 rows")
