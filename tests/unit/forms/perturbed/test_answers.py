"""Corrected counts: the formula, several attributes, groups, sums, and what is shown of them."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.asking.ask import bound_all
from sfumato.core.answer import Likely
from sfumato.errors import DataError
from sfumato.forms.perturbed.answers import Perturbed
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.verbs import perturb
from tests.support.tables import microdata

N, SIZE, P = 600, 5, 0.4
GENERATOR = np.random.default_rng(3)


def table() -> sf.Microdata:
    rows = {
        "age": GENERATOR.integers(0, 50, N),
        "s": GENERATOR.integers(0, SIZE, N),
        "d": GENERATOR.choice(list("abc"), N),
    }
    return microdata(rows, quasi=["age"], sensitive=["s", "d"])


RELEASE = perturb(table(), p=P, seed=1)
ROWS = RELEASE.table.to_pylist()


def test_the_formula_of_agrawal() -> None:
    chosen = [row for row in ROWS if row["age"] < 20]
    observed = sum(row["s"] in (1, 2) for row in chosen)
    expected = (observed - (1 - P) * 2 / SIZE * len(chosen)) / P
    found = RELEASE.count("age < 20 AND s IN (1, 2)")
    assert found.estimate == pytest.approx(expected)
    assert (found.lo, found.hi) == (0, len(chosen))


def test_the_likely_interval_is_the_normal_one() -> None:
    """Var(obs) for an estimated c of N rows: c q1 (1 - q1) + (N - c) q0 (1 - q0)."""
    found = RELEASE.count("s IN (1, 2)")
    noise = (1 - P) * 2 / SIZE
    variance = sum(
        rows * q * (1 - q) for rows, q in ((found.estimate, P + noise), (N - found.estimate, noise))
    )
    half = 1.2815515655446004 * np.sqrt(variance) / P
    assert found.likely is not None
    assert found.likely.level == 0.8
    assert found.likely.lo == pytest.approx(found.estimate - half)
    assert found.likely.hi == pytest.approx(found.estimate + half)


@pytest.mark.parametrize(
    ("where", "spread"),
    [
        ("s IN (1, 2)", 1 / P),
        ("age < 20 AND s = 1", 1 / P),
        # weights of s: (1 - a)/p and -a/p; times those of d
        ("s = 1 AND d = 'a'", (0.88 / P) * (0.8 / P) - (0.88 / P) * (-0.2 / P)),
        ("age < 20", 0.0),
    ],
)
def test_the_interval_of_agrawal_srikant_and_thomas(where: str, spread: float) -> None:
    """From n = 4 log(2/delta) / (p eps)^2 rows on, a share is within eps of the estimate."""
    asked = Perturbed.of_release(RELEASE)
    (bound,) = bound_all(asked, [f"SELECT COUNT(*) FROM t WHERE {where}"])
    found = asked.find(bound.where)
    rows, delta = int(found.rows.sum()), 0.2
    eps = np.sqrt(4 * np.log(2 / delta) / rows) * spread
    estimate = float((found.scope.share * found.rows).sum())
    likely = asked.likely(bound.where, chance="tail")
    assert likely.level == 0.8
    assert likely.lo == pytest.approx(max(0, estimate - rows * eps))
    assert likely.hi == pytest.approx(min(rows, estimate + rows * eps))


def test_several_attributes_are_corrected_one_after_the_other() -> None:
    def weight(row: dict[str, object], name: str, wanted: object, size: int) -> float:
        return ((row[name] == wanted) - (1 - P) / size) / P

    expected = sum(weight(row, "s", 1, SIZE) * weight(row, "d", "a", 3) for row in ROWS)
    assert RELEASE.count("s = 1 AND d = 'a'").estimate == pytest.approx(max(0, expected))


def test_what_needs_no_perturbed_value_is_exact() -> None:
    found = RELEASE.query("SELECT COUNT(*), SUM(age), MIN(age) FROM t WHERE age < 20").answers[0]
    assert all(answer.exact and answer.likely is None for answer in found)
    assert RELEASE.count("s >= 0").exact
    assert RELEASE.count("s = 77") == sf.Answer(0.0, 0, 0)


def test_estimates_stay_within_their_bounds() -> None:
    rare = microdata({"age": [1] * 40, "s": ["x"] * 39 + ["y"]}, sensitive=["s"])
    for seed in range(20):
        found = perturb(rare, p=0.1, seed=seed).count("s = 'y'")
        assert found.likely is not None
        assert 0 <= found.likely.lo <= found.estimate <= found.likely.hi <= 40


def test_groups_by_a_perturbed_attribute() -> None:
    result = RELEASE.query("SELECT s, COUNT(*) AS n FROM t WHERE age < 20 AND s > 1 GROUP BY s")
    assert [key for (key,) in result.keys] == [2, 3, 4]
    for value, answer in result:
        alone = RELEASE.count(f"age < 20 AND s = {value}")
        assert answer.estimate == pytest.approx(alone.estimate)
        assert answer.likely == alone.likely
    assert result.table.column_names == [
        "s", "n_estimate", "n_lo", "n_hi", "n_likely_lo", "n_likely_hi",
    ]  # fmt: skip


def test_likely_columns_are_there_only_where_needed() -> None:
    exact = RELEASE.query("SELECT COUNT(*) AS n FROM t").table
    assert exact.column_names == ["n_estimate", "n_lo", "n_hi"]
    both = RELEASE.query("SELECT COUNT(*), AVG(age) FROM t WHERE s = 1").table
    assert "count_likely_lo" in both.column_names
    assert "avg_age_likely_lo" not in both.column_names


def test_sums_are_weighed_like_counts() -> None:
    noise = (1 - P) / SIZE
    expected = sum(row["age"] * ((row["s"] == 1) - noise) / P for row in ROWS)
    found = RELEASE.query("SELECT SUM(age), AVG(s), MAX(s) FROM t WHERE s = 1").answers[0]
    assert found[0].estimate == pytest.approx(expected)
    assert (found[0].lo, found[0].hi) == (0, sum(row["age"] for row in ROWS))
    assert (found[1].lo, found[1].hi, found[1].nullable) == (1, 1, True)
    total = sum((row["s"] - (1 - P) * (SIZE - 1) / 2) / P for row in ROWS)
    mean = RELEASE.query("SELECT AVG(s) FROM t").answer
    assert mean.estimate == pytest.approx(total / N)
    assert (mean.lo, mean.hi) == (0, SIZE - 1)


def test_an_answer_reads_like_a_sentence() -> None:
    answer = sf.Answer(12.0, 0, 40, likely=Likely(0.8, 8.25, 15.75))
    assert str(answer) == ("about 12, with 80% confidence from 8.25 to 15.75, surely from 0 to 40")
    assert 9 in answer.likely  # type: ignore[operator]
    assert 16 not in answer.likely  # type: ignore[operator]


def test_a_value_outside_the_domain_is_refused() -> None:
    domains = {**RELEASE.domains, "s": pa.table({"s": [0, 1]})}
    broken = PerturbedTable(RELEASE.table, domains, RELEASE.manifest)
    with pytest.raises(DataError, match="its domain lacks"):
        broken.count()
