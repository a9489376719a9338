"""The perturbed table: how often values are kept, what is published, what can be verified."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, ParameterError, SchemaError
from sfumato.forms.perturbed.release import PerturbedTable, Retention
from sfumato.verbs import perturb
from tests.support.sealing import reseal
from tests.support.tables import attribute, microdata

DISEASES = [f"disease-{i}" for i in range(8)]


def table(n: int = 2000) -> sf.Microdata:
    """Rows in the order of their disease, with a number that tells them apart."""
    generator = np.random.default_rng(4)
    disease: list[Any] = sorted(generator.choice(DISEASES, n).tolist())
    disease[-1] = None
    return microdata(
        {
            "age": generator.integers(18, 90, n),
            "disease": disease,
            "salary": generator.integers(0, 6, n),
            "visit": np.arange(n),
        },
        quasi=["age"],
        sensitive=["disease", "salary"],
        insensitive=["visit"],
    )


def test_formula_10_gives_the_retention_of_the_papers_experiments() -> None:
    retention = Retention.keeping(attribute(50), None, 10)
    assert retention.p == pytest.approx(float(Fraction(4, 49)))
    assert retention.m == pytest.approx(10)


def test_lemma_9_is_bayes_under_equal_values() -> None:
    kept = Retention(0.3, 7)
    prior = 1 / 7
    shown = prior * kept.p + kept.noise  # the chance that a row shows a given value
    posterior = prior * (kept.p + kept.noise) / shown
    assert 1 / kept.m == pytest.approx(posterior)


@pytest.mark.parametrize("m", [1.5, 2, 6.9])
def test_p_and_m_say_the_same(m: float) -> None:
    by_m = Retention.keeping(attribute(7), None, m)
    assert Retention.keeping(attribute(7), by_m.p, None).m == pytest.approx(m)


@pytest.mark.parametrize(
    ("p", "m", "said"),
    [
        (None, None, "either p or m"),
        (0.5, 2, "either p or m"),
        (0, None, "between 0 and 1"),
        (1, None, "between 0 and 1"),
        (float("nan"), None, "between 0 and 1"),
        (None, 1, "above 1"),
    ],
)
def test_parameters_that_mean_nothing(p: float | None, m: float | None, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        perturb(table(), p=p, m=m)


def test_what_noise_cannot_hide_is_infeasible() -> None:
    with pytest.raises(
        Infeasible, match=r"'salary' has 6 values.*largest feasible m is 5"
    ) as raised:
        perturb(table(), m=6)
    assert raised.value.largest == 5
    lonely = microdata({"age": [1, 2], "s": ["x", "x"]}, sensitive=["s"])
    with pytest.raises(Infeasible, match="one value"):
        perturb(lonely, p=0.5)


def test_everything_but_the_sensitive_values_is_exact() -> None:
    made = perturb(table(), p=0.4)
    rows = made.table.to_pylist()
    assert made.table.column_names == ["age", "disease", "salary", "visit"]
    ages = table().attributes["age"].decode(table().codes["age"]).to_pylist()
    assert Counter((row["age"], row["visit"]) for row in rows) == Counter(
        zip(ages, range(2000), strict=True)
    )
    assert made.domains["disease"]["disease"].to_pylist() == [*DISEASES, None]
    assert {row["disease"] for row in rows} == {*DISEASES, None}
    assert made.manifest.promise[1] == {
        "model": "perturbation", "on": "salary", "p": 0.4,
        "m": pytest.approx(1 / (0.4 + 0.6 / 6)), "domain_size": 6,
    }  # fmt: skip


def test_a_declared_domain_is_drawn_from_in_full() -> None:
    data = microdata(
        {"age": [1] * 500, "s": ["a", "b"] * 250}, sensitive=["s"], orders={"s": "cab"}
    )
    made = perturb(data, p=0.5)
    assert made.domains["s"]["s"].to_pylist() == ["c", "a", "b"]
    assert set(made.table["s"].to_pylist()) == set("abc")
    assert made.retention("s").size == 3


def test_columns_that_are_not_named_stay_out() -> None:
    made = perturb(table(), m=3, sensitive="salary")
    assert made.table.column_names == ["age", "salary", "visit"]
    assert made.stems == ("perturbed", "domain")
    with pytest.raises(SchemaError, match="there are disease, salary"):
        perturb(table(), m=3, sensitive=["age"])
    with pytest.raises(SchemaError, match="nothing to perturb"):
        perturb(microdata({"age": [1, 2]}), m=3)


def test_a_seed_repeats_a_run_and_chance_does_not() -> None:
    assert perturb(table(), m=3, seed=5).table.equals(perturb(table(), m=3, seed=5).table)
    assert not perturb(table(), m=3).table.equals(perturb(table(), m=3).table)


def test_rows_are_in_random_order() -> None:
    visits = perturb(table(), m=3, seed=1).table["visit"].to_numpy()
    assert abs(np.corrcoef(visits, np.arange(len(visits)))[0, 1]) < 4 / np.sqrt(len(visits))


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_written_and_loaded(tmp_path: Path, file_format: str) -> None:
    made = perturb(table(), m=3)
    folder = made.write(tmp_path / "out", format=file_format)  # type: ignore[arg-type]
    assert sorted(path.stem for path in folder.iterdir()) == [
        "domain_disease", "domain_salary", "perturbed", "release",
    ]  # fmt: skip
    loaded = sf.load(folder)
    assert isinstance(loaded, PerturbedTable)
    assert loaded.table.to_pylist() == made.table.to_pylist()
    assert {name: domain.to_pylist() for name, domain in loaded.domains.items()} == {
        name: domain.to_pylist() for name, domain in made.domains.items()
    }
    assert loaded.count("disease = 'disease-3'") == made.count("disease = 'disease-3'")
    assert "disease kept with p = 0.25" in repr(loaded)
    made.write(folder, force=True)


def test_verify_says_what_it_cannot_see(tmp_path: Path) -> None:
    found = sf.verify(perturb(table(), m=3).write(tmp_path / "out")).require()
    assert [check.statement for check in found.checks[-2:]] == [
        "3-perturbation of disease", "3-perturbation of salary",
    ]  # fmt: skip
    assert "publisher's word" in found.checks[-1].detail


def restated(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    stated = json.loads((folder / "release.json").read_text())
    change(stated)
    (folder / "release.json").write_text(json.dumps(stated))
    reseal(folder)
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda stated: stated["promise"][0].update(p=0.3), "keeps a guess at 1/2.6"),
        (lambda stated: stated["promise"][0].update(m=4), "keeps a guess at 1/3 only"),
        (lambda stated: stated["promise"][0].update(p=-0.1), "p = -0.1"),
        (lambda stated: stated["promise"][0].update(domain_size=90), "the domain has 9"),
        (lambda stated: stated["promise"][0].pop("m"), "it is stated by"),
        (lambda stated: stated["promise"].pop(), "nothing is promised of 'salary'"),
        (
            lambda stated: stated["promise"].append({"model": "k-anonymity", "k": 2}),
            "has no groups",
        ),
        (
            lambda stated: stated["promise"].append(
                {"model": "l-diversity", "l": 2, "on": "disease"}
            ),
            "l-diversity is not a promise of this form",
        ),
    ],
)
def test_a_statement_that_does_not_hold_is_caught(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    folder = perturb(table(), m=3).write(tmp_path / "out")
    assert said in restated(folder, change)


def spoiled(tmp_path: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> str:
    folder = perturb(table(), m=3).write(tmp_path / "out")
    pq.write_table(change(pq.read_table(folder / name)), folder / name)
    found = sf.verify(folder)
    assert not found.ok
    return "\n".join(check.detail for check in found.checks if not check.kept)


def test_tables_that_do_not_fit_are_caught(tmp_path: Path) -> None:
    domain = "domain_salary.parquet"
    assert "its domain lacks" in spoiled(tmp_path / "a", domain, lambda held: held.slice(1))
    assert "a value twice" in spoiled(
        tmp_path / "b", domain, lambda held: pa.concat_tables([held, held])
    )
    assert "2,000 rows are stated" in spoiled(
        tmp_path / "c", "perturbed.parquet", lambda held: held.slice(1)
    )
    assert "published but not declared" in spoiled(
        tmp_path / "d", "perturbed.parquet", lambda held: held.append_column("own", held["salary"])
    )


def test_breach_refuses_with_the_reason() -> None:
    with pytest.raises(ParameterError, match="no groups to guess from"):
        sf.belief(perturb(table(), m=3), {"age": 30}, sensitive="salary")
