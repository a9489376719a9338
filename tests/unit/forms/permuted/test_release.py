"""The permuted table: what it says, what its order must not say, and how it is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.permuted.release import PermutedTable
from sfumato.io.writing import write_parquet
from tests.support.sealing import reseal
from tests.support.tables import microdata

L, N = 4, 3000
GENERATOR = np.random.default_rng(6)
# rows in the order of their disease: the worst input order one can have
DISEASE = np.sort(GENERATOR.choice([f"disease-{i:02}" for i in range(12)], N))
ROWS = {
    "age": GENERATOR.integers(18, 90, N),
    "disease": DISEASE,
    "pay": GENERATOR.integers(0, 9, N),
    "visit": np.arange(N),
}


def table() -> sf.Microdata:
    return microdata(ROWS, quasi=["age"], sensitive=["disease", "pay"], insensitive=["visit"])


def release(seed: int | None = None) -> PermutedTable:
    return sf.publish(table(), sf.Anatomize(), sf.LDiversity(L), form="permuted", seed=seed)


def test_a_group_has_its_own_values_in_another_order() -> None:
    made = release()
    assert made.table.column_names == ["age", "visit", "group_id", "disease", "pay"]
    shown: Counter[tuple[int, str]] = Counter()
    true: Counter[tuple[int, str]] = Counter()
    for row in made.table.to_pylist():
        assert row["age"] == ROWS["age"][row["visit"]]
        shown[row["group_id"], row["disease"]] += 1
        true[row["group_id"], str(DISEASE[row["visit"]])] += 1
    assert shown == true


def test_it_tells_what_qit_and_st_tell() -> None:
    made = release()
    apart = made.as_anatomized()
    assert apart.qit.column_names == ["age", "visit", "group_id"]
    joined = {
        (row["group_id"], row["disease"]): row["count"] for row in apart.sts["disease"].to_pylist()
    }
    assert joined == Counter(
        zip(made.table["group_id"].to_pylist(), made.table["disease"].to_pylist(), strict=True)
    )
    for query in ("age < 40 AND disease = 'disease-03'", "pay > 5", "age < 40 AND pay = 2"):
        assert made.count(query) == apart.count(query)
    assert sf.row_breach(made, sensitive="pay").mean == sf.row_breach(apart, sensitive="pay").mean
    person = {"age": int(ROWS["age"][0])}
    assert sf.belief(made, person, sensitive="pay") == sf.belief(apart, person, sensitive="pay")
    known = sf.individual_breach(made, table(), sensitive="disease")
    assert known.probabilities.max() <= 1 / L + 1e-9


# The attacker takes what a row shows for the row's own value, or takes two sensitive columns to
# have been shuffled together.


def success(shown: pa.Table) -> float:
    return float(np.mean(DISEASE[shown["visit"].to_numpy()] == shown["disease"].to_numpy()))


def paired(shown: pa.Table) -> float:
    """Share of the (disease, pay) pairs of a row that some row of its group truly has."""
    visits, groups = shown["visit"].to_numpy(), shown["group_id"].to_numpy()
    true = set(zip(groups, DISEASE[visits], ROWS["pay"][visits], strict=True))
    columns = (shown[name].to_numpy() for name in ("disease", "pay"))
    return float(np.mean([pair in true for pair in zip(groups, *columns, strict=True)]))


def test_position_does_not_tell_whose_a_value_is() -> None:
    made = [release(seed) for seed in range(4)]
    # by chance a row shows its own value as often as Corollary 1 says
    chance = np.mean([sf.row_breach(one, sensitive="disease").mean for one in made])
    sigma = np.sqrt(chance / (N * len(made)))
    assert abs(np.mean([success(one.table) for one in made]) - chance) < 4 * sigma
    assert np.mean([paired(one.table) for one in made]) < 0.45


def test_the_same_attack_breaks_a_naive_publication() -> None:
    # values of a group in the order of its rows, both columns shuffled together
    made = release().table
    rows = made["visit"].to_numpy()
    naive = made.set_column(3, "disease", pa.array(DISEASE[rows]))
    naive = naive.set_column(4, "pay", pa.array(ROWS["pay"][rows]))
    assert success(naive) == 1
    assert paired(naive) == 1


@pytest.mark.slow
def test_every_place_of_a_group_is_as_likely() -> None:
    """Chi-square over the places at which the value of a group's first row ends up."""
    small = microdata({"age": range(4), "s": list("abcd")}, sensitive=["s"])
    places = np.zeros((4, 4))
    for seed in range(800):
        shown = sf.publish(
            small, sf.Anatomize(), sf.LDiversity(4), form="permuted", seed=seed
        ).table
        for age, value in zip(shown["age"].to_pylist(), shown["s"].to_pylist(), strict=True):
            places[age, "abcd".index(value)] += 1
    chi = float(((places - 200) ** 2 / 200).sum())
    assert chi < 32  # 9 degrees of freedom: exceeded once in 5,000 runs, and the seeds are fixed
    assert float(((np.eye(4) * 800 - 200) ** 2 / 200).sum()) > 32


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_written_and_loaded(tmp_path: Path, file_format: str) -> None:
    made = release()
    folder = made.write(tmp_path / "out", format=file_format)  # type: ignore[arg-type]
    assert sorted(path.name for path in folder.iterdir()) == [
        f"permuted.{file_format}", "release.json",
    ]  # fmt: skip
    loaded = sf.load(folder)
    assert isinstance(loaded, PermutedTable)
    assert loaded.table.to_pylist() == made.table.to_pylist()
    assert sf.verify(folder).require().groups == made.manifest.groups
    made.write(folder, force=True)


def test_any_partition_can_be_permuted(tmp_path: Path) -> None:
    boxes = sf.publish(table(), sf.Mondrian(), sf.LDiversity(L), form="permuted")
    assert sf.verify(boxes.write(tmp_path / "out")).ok


def test_what_exact_rows_cannot_promise_is_refused() -> None:
    with pytest.raises(ParameterError, match="k-anonymity is not a promise of this form"):
        sf.publish(table(), sf.Mondrian(), sf.KAnonymity(5), form="permuted")
    both = sf.KAnonymity(5) & sf.LDiversity(L)
    with pytest.raises(ParameterError, match="k-anonymity is not a promise of this form"):
        sf.publish(table(), sf.Mondrian(), both, form="permuted")
    bare = microdata({"age": [1, 2, 3]})
    with pytest.raises(SchemaError, match="sensitive"):
        sf.publish(bare, sf.Mondrian(), sf.LDiversity(3), form="permuted")


def test_fractions_may_be_shuffled() -> None:
    pay = microdata(
        {"age": range(40), "pay": [100 + 0.1 * i for i in range(40)]}, sensitive=["pay"]
    )
    made = sf.publish(pay, sf.Mondrian(), sf.LDiversity(5), form="permuted")
    whole = made.query("SELECT AVG(pay) FROM t").answer
    assert whole.exact
    assert whole.lo == pytest.approx(101.95)


def test_declared_orders_lead_the_st() -> None:
    data = microdata({"age": range(6), "s": list("abcabc")}, sensitive=["s"], orders={"s": "cab"})
    made = sf.publish(data, sf.Anatomize(near=False), sf.LDiversity(3), form="permuted")
    assert made.as_anatomized().st["s"].to_pylist() == list("cabcab")


def spoiled(tmp_path: Path, change: Callable[[pa.Table], pa.Table]) -> str:
    folder = release().write(tmp_path / "out")
    path = folder / "permuted.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


def test_a_table_that_is_not_as_stated_is_caught(tmp_path: Path) -> None:
    assert "not ordered by group" in spoiled(
        tmp_path / "a", lambda held: held.take(np.arange(N)[::-1])
    )
    assert "'group_id' is declared but not published" in spoiled(
        tmp_path / "b", lambda held: held.drop_columns(["group_id"])
    )
    assert "rows are stated" in spoiled(tmp_path / "c", lambda held: held.slice(1))


def test_a_broken_promise_names_the_group(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    shown = pq.read_table(folder / "permuted.parquet")
    alike = shown.set_column(3, "disease", pa.array(["disease-00"] * N))
    write_parquet(alike, folder / "permuted.parquet")
    reseal(folder)
    broken = {check.statement: check.detail for check in sf.verify(folder).checks if not check.kept}
    assert list(broken) == ["figures as stated", f"l-diversity (l = {L}, on = disease)"]
    assert list(broken.values())[1].startswith("group 1 of ")
