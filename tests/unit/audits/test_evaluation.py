"""What an evaluation measures, on tables of every shape."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audits.bins import Bin, bins_of
from sfumato.audits.evaluation import Evaluation, attacking, evaluate
from sfumato.audits.report.page import render
from sfumato.engines.parts import TableParts
from sfumato.errors import DataError, ParameterError, QueryRefused, ReleaseError, SchemaError
from sfumato.forms.registry import Release
from sfumato.queries.sql.writing import sql_of
from tests.support.attacks import planted
from tests.support.sealing import reseal
from tests.support.seeds import long_seed

N = 240


def people(n: int = N, seed: int = 5) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    return {
        "age": draw.integers(18, 90, n),
        "sex": draw.choice(["f", "m"], n),
        "city": draw.choice([f"town {i}" for i in range(30)], n),
        "pay": np.round(draw.lognormal(7, 1.5, n), 2),
        "born": [date(1950, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 9999, n)],
        "seen": [datetime(2020, 1, 1) + timedelta(hours=int(h)) for h in draw.integers(0, 9999, n)],
        "price": [Decimal(int(cents)) / 100 for cents in draw.integers(0, 99999, n)],
        "smoker": draw.random(n) < 0.3,
        "grade": draw.choice(["low", "middle", "high"], n),
        "one": ["always"] * n,
        "none": pa.nulls(n, pa.int64()),
        "gaps": pa.array([None if x % 5 == 0 else int(x) for x in draw.integers(0, 60, n)]),
        "code": draw.choice([10, 1000, 5000], n),
        "disease": draw.choice(["flu", "cold", "gout", "asthma"], n, p=[0.4, 0.3, 0.2, 0.1]),
        "drug": draw.choice(["a", "b", "c"], n),
    }


def microdata(quasi: list[str], sensitive: list[str], n: int = N, **options: Any) -> sf.Microdata:
    columns = {name: people(n)[name] for name in (*quasi, *sensitive)}
    return sf.Microdata.from_arrow(
        pa.table(columns), sf.Schema(quasi=quasi, sensitive=sensitive, **options)
    )


def of_numbers(kind: pa.DataType, numbers: list[Any]) -> sf.Microdata:
    columns = {"it": pa.array(numbers * 4, kind), "disease": list("abcd") * len(numbers)}
    return sf.Microdata.from_arrow(
        pa.table(columns), sf.Schema(quasi=["it"], sensitive=["disease"])
    )


LARGEST = 1.7976931348623157e308
ORDERS = {"grade": ["low", "middle", "high"]}
TABLES: dict[str, Callable[[], sf.Microdata]] = {
    "plain": lambda: microdata(["age", "sex", "city"], ["disease"]),
    "no sensitive": lambda: microdata(["age", "sex", "city", "pay"], []),
    "two sensitive": lambda: microdata(["age", "sex"], ["disease", "drug"]),
    "missing": lambda: microdata(["age", "gaps"], ["disease"]),
    "all missing": lambda: microdata(["age", "none"], ["disease"]),
    "dates": lambda: microdata(["born", "seen"], ["disease"]),
    "booleans": lambda: microdata(["smoker", "age"], ["disease"]),
    "fractions": lambda: microdata(["pay", "price"], ["disease"]),
    "ordered": lambda: microdata(["grade", "age"], ["disease"], orders=ORDERS),
    "bins": lambda: microdata(["pay", "age"], ["disease"], bins={"pay": 6}),
    "one value": lambda: microdata(["one", "age"], ["disease"]),
    "sparse numbers": lambda: microdata(["code", "age"], ["disease"]),
    "tiny": lambda: microdata(["age", "sex"], ["disease"], n=5),
    "sensitive numbers": lambda: microdata(["age"], ["code"]),
    "sensitive missing": lambda: microdata(["age"], ["gaps"]),
    "top of int64": lambda: of_numbers(pa.int64(), [2**63 - 1 - i for i in range(40)]),
    "both ends of int64": lambda: of_numbers(
        pa.int64(), [-(2**63), 2**63 - 1, *range(-(2**62), 2**62, 2**57)]
    ),
    "top of uint64": lambda: of_numbers(pa.uint64(), [2**64 - 1 - 7 * i for i in range(40)]),
    "largest doubles": lambda: of_numbers(
        pa.float64(), [-LARGEST, LARGEST, *(LARGEST / i for i in range(2, 40))]
    ),
    "smallest doubles": lambda: of_numbers(pa.float64(), [5e-324 * i for i in range(40)]),
}


def boxes(table: sf.Microdata) -> Release:
    return sf.publish(table, sf.Mondrian(), sf.KAnonymity(2), seed=long_seed(1))


def apart(table: sf.Microdata) -> Release:
    return sf.publish(table, sf.Anatomize(), sf.LDiversity(1.2), seed=long_seed(1))


def measured(table: sf.Microdata, release: Release | Path, **options: Any) -> Evaluation:
    return evaluate(release, table, **{"queries": 30, "seed": 1, **options})


@pytest.mark.parametrize("name", TABLES)
def test_generalized_tables_of_every_shape(name: str) -> None:
    table = TABLES[name]()
    seen = measured(table, boxes(table))
    assert [shown.attribute for shown in seen.distributions] == list(table.schema.quasi)
    for shown in seen.distributions:
        assert sum(shown.truth) == table.n_rows
        assert sum(shown.estimate) == pytest.approx(table.n_rows)
        assert_within_bounds(shown.truth, shown.lo, shown.hi)
        assert 0 <= shown.distance <= 1
        assert len(shown.labels) <= 20
    assert_sound(seen)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "no sensitive"])
def test_anatomized_tables_of_every_shape(name: str) -> None:
    table = TABLES[name]()
    seen = measured(table, apart(table))
    pairs = [(shown.attribute, shown.among) for shown in seen.distributions]
    assert len(pairs) == len(table.schema.quasi) * len(table.schema.sensitive)
    for shown in seen.distributions:
        assert shown.among is not None
        assert_within_bounds(shown.truth, shown.lo, shown.hi)
        # what a value's rows are in all is published exactly
        assert sum(shown.estimate) == pytest.approx(sum(shown.truth))
    assert_sound(seen)


MOMENTS = [
    pa.timestamp("us"),
    pa.timestamp("ns"),
    pa.timestamp("s", "UTC"),
    pa.timestamp("us", "Europe/Rome"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.time32("s"),
    pa.duration("us"),
    pa.duration("ns"),
    pa.date32(),
]


def at_moments(kind: pa.DataType) -> sf.Microdata:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    moments = pa.array([0, 1, 2, 3, None, 0, 1, 2], width).cast(kind)
    return sf.Microdata.from_arrow(
        pa.table({"a": range(8), "d": moments}), sf.Schema(quasi=["a"], sensitive="d")
    )


@pytest.mark.parametrize("kind", MOMENTS, ids=str)
def test_sensitive_dates_and_times_are_compared(kind: pa.DataType) -> None:
    table = at_moments(kind)
    seen = measured(table, apart(table))
    (shown,) = seen.distributions
    assert shown.among is not None
    assert_within_bounds(shown.truth, shown.lo, shown.hi)
    assert sum(shown.estimate) == pytest.approx(sum(shown.truth))
    assert_sound(seen)


def test_sensitive_times_finer_than_pythons_are_named_in_distributions() -> None:
    table = at_moments(pa.time64("ns"))
    seen = evaluate(apart(table), table, workload=["SELECT COUNT(*) FROM t WHERE a < 4"])
    among = seen.distributions[0].among
    assert among is not None
    assert among[1] in {*(f"00:00:00.00000000{i}" for i in range(4)), "00:00:00", "(missing)"}


def test_quasi_identifying_times_finer_than_pythons_are_compared() -> None:
    """Bins and questions name them by texts, which are read as such."""
    n = 60
    moments = pa.array([i % 40 for i in range(n)], pa.int64()).cast(pa.time64("ns"))
    rows = pa.table({"a": range(n), "d": moments, "s": [i % 5 for i in range(n)]})
    table = sf.read(rows, sf.Schema(quasi=["a", "d"], sensitive="s"))
    for seen in (measured(table, apart(table)), measured(table, boxes(table))):
        for shown in seen.distributions:
            assert_within_bounds(shown.truth, shown.lo, shown.hi)
            assert sum(shown.truth) <= n
        assert_sound(seen)


def assert_within_bounds(truth: tuple[int, ...], lo: tuple[int, ...], hi: tuple[int, ...]) -> None:
    assert all(low <= true <= high for true, low, high in zip(truth, lo, hi, strict=True))


def assert_sound(seen: Evaluation) -> None:
    assert seen.errors is not None
    assert seen.errors.comparison.coverage == 1
    assert len(seen.errors.queries) == 30
    assert seen.verification.ok
    assert seen.advice
    json.dumps(seen.to_dict(), allow_nan=False, default=str)


def bins(table: sf.Microdata, name: str, most: int) -> tuple[Bin, ...]:
    return bins_of(table.attributes[name], TableParts.of(table).value_counts[name], most)


@pytest.mark.parametrize("most", [3, 10, 20])
@pytest.mark.parametrize("name", [name for name in people(1) if name != "drug"])
def test_every_row_is_in_one_bin(name: str, most: int) -> None:
    orders = {name: ORDERS[name]} if name in ORDERS else {}
    table = microdata([name], [], orders=orders)
    found = bins(table, name, most)
    counts = table.counts([sf.Query({name: one.predicate}) for one in found])
    assert counts.estimate.sum() == table.n_rows
    assert len(found) <= most
    assert len({one.label for one in found}) == len(found)


def test_bins_read_well() -> None:
    table = microdata(["age", "city", "gaps", "code", "smoker"], [])
    ages = [one.label for one in bins(table, "age", 10)]
    assert ages == ["18 – 19", "20 – 29", *(f"{ten} – {ten + 9}" for ten in range(30, 80, 10)),
                    "80 – 89"]  # fmt: skip
    assert bins(table, "city", 10)[-1].label == "21 others"
    assert bins(table, "gaps", 10)[-1].label == "(missing)"
    assert [one.label for one in bins(table, "code", 10)] == ["10 – 999", "1000 – 4999", "5000"]
    assert [one.label for one in bins(table, "smoker", 10)] == ["no", "yes"]


def test_a_long_tail_is_cut_into_even_ranges() -> None:
    numbers = np.append(np.arange(1000), 10**7)
    table = sf.Microdata.from_arrow(pa.table({"gain": numbers}), sf.Schema(quasi=["gain"]))
    queries = [sf.Query({"gain": one.predicate}) for one in bins(table, "gain", 10)]
    assert table.counts(queries).estimate.max() < 150


def test_distances_are_total_variation() -> None:
    table = sf.Microdata.from_arrow(
        pa.table({"x": [1, 1, 1, 2], "y": [1, 2, 3, 4]}), sf.Schema(quasi=["x", "y"])
    )
    seen = measured(table, sf.publish(table, sf.Mondrian(), sf.KAnonymity(4)))
    shown = seen.distributions[0]
    assert shown.truth == (3, 1)
    assert shown.estimate == (2.0, 2.0)
    assert shown.distance == 0.25
    assert (shown.lo, shown.hi) == ((0, 0), (4, 4))


def test_a_folder_and_a_release_in_memory_are_measured_alike(tmp_path: Path) -> None:
    table = TABLES["plain"]()
    release = boxes(table)
    folder = release.write(tmp_path / "out")
    first, second = measured(table, release).to_dict(), measured(table, folder).to_dict()
    assert (first.pop("release"), second.pop("release")) == ("release in memory", "out")
    del first["promise"]["path"], second["promise"]["path"]
    assert first == second


def test_the_seed_that_was_drawn_is_stated() -> None:
    table = TABLES["plain"]()
    release = boxes(table)
    seen = evaluate(release, table, queries=20)
    assert seen.errors is not None
    seed = int(seen.errors.workload.rsplit("seed ", 1)[1])
    again = evaluate(release, table, queries=20, seed=seed)
    assert again.to_dict()["queries"] == seen.to_dict()["queries"]


@pytest.mark.slow
def test_many_values_are_asked_about_in_ranges() -> None:
    draw = np.random.default_rng(1)
    columns = {
        "pay": draw.random(3000),
        "code": [f"c{number}" for number in range(3000)],
        "ill": draw.choice(["a", "b"], 3000),
    }
    schema = sf.Schema(quasi=["pay", "code"], sensitive="ill")
    table = sf.Microdata.from_arrow(pa.table(columns), schema)
    errors = evaluate(sf.publish(table, sf.Mondrian(), sf.KAnonymity(100)), table, seed=1).errors
    assert errors is not None
    assert "neighbouring values of 1 to 2 quasi-identifiers and ill" in errors.workload
    assert len(errors.queries) == 600
    assert all("BETWEEN" in sql_of(query) for query in errors.queries if "pay" in query.where)
    assert errors.comparison.coverage == 1


def test_an_own_workload() -> None:
    table = TABLES["plain"]()
    own: list[str | sf.Query] = [
        "SELECT COUNT(*) FROM t WHERE age < 40 AND disease = 'flu'",
        "SELECT AVG(age) FROM t",
        sf.Query({"sex": ["f"]}, by=["disease"]),
        "SELECT COUNT(*) FROM t WHERE age > 500",
    ]
    errors = evaluate(boxes(table), table, own).errors
    assert errors is not None
    assert errors.given
    assert errors.workload == "4 queries of your own"
    assert len(errors.comparison) == 3 + 4
    assert errors.comparison.zero_truth == 1
    assert any("one of its figures" in example.sql for example in errors.examples)
    with pytest.raises(QueryRefused, match="salary"):
        evaluate(boxes(table), table, ["SELECT COUNT(*) FROM t WHERE salary > 3"])


def test_a_workload_in_parts_is_compared_as_a_whole() -> None:
    table = TABLES["plain"]()
    release = boxes(table)
    own = sf.anatomy_workload(table, queries=120, dimensionality=1, seed=2)
    errors = evaluate(release, table, own).errors
    assert errors is not None
    whole = sf.compare(release, table, own)
    for name in ("query", "truth", "estimate", "lo", "hi"):
        assert getattr(errors.comparison, name).tolist() == getattr(whole, name).tolist()


def test_curves_bands_and_examples() -> None:
    table = TABLES["plain"]()
    errors = measured(table, boxes(table), queries=200).errors
    assert errors is not None
    xs, ys = zip(*errors.curve, strict=True)
    assert list(xs) == sorted(xs)
    assert list(ys) == sorted(ys)
    assert ys[-1] == 1
    for bands in (errors.by_size, errors.by_attributes):
        assert sum(band.figures for band in bands) == len(errors.comparison.accuracy.errors)
    assert [band.label for band in errors.by_attributes] == ["2", "3", "4"]
    assert {example.sort for example in errors.examples} == {"best", "middle", "worst"}
    worst = max(example.error for example in errors.examples)
    assert worst == errors.comparison.accuracy.errors.max()


def test_queries_that_are_all_truly_zero_have_no_errors() -> None:
    table = TABLES["plain"]()
    seen = evaluate(boxes(table), table, ["SELECT COUNT(*) FROM t WHERE age > 500"])
    assert seen.errors is not None
    assert (seen.errors.curve, seen.errors.by_size, seen.errors.examples) == ((), (), ())
    assert math.isnan(seen.errors.bias)
    assert seen.to_dict()["queries"]["bias"] is None


def test_text_cannot_be_asked_and_that_is_said() -> None:
    table = TABLES["plain"]()
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5), labels="text")
    seen = measured(table, release)
    assert seen.distributions == ()
    assert seen.errors is None
    assert "as text" in seen.unasked["age"]
    assert "--labels" in seen.advice[0].text


def test_sets_in_csv_files_are_measured_as_those_in_parquet_files(tmp_path: Path) -> None:
    table = TABLES["plain"]()
    release = boxes(table)
    seen = measured(table, release.write(tmp_path / "out", format="csv"), queries=200, seed=1)
    same = measured(table, release.write(tmp_path / "same"), queries=200, seed=1)
    assert [shown.attribute for shown in seen.distributions] == ["age", "sex", "city"]
    assert not seen.unasked
    names = ("release", "promise")
    figures = [{k: v for k, v in one.to_dict().items() if k not in names} for one in (seen, same)]
    assert figures[0] == figures[1]


def test_what_an_attacker_makes_of_it_is_said_and_shown() -> None:
    people = planted(1_000, 0.5, seed=1)
    release = sf.publish(people, sf.Anatomize(near=False), sf.LDiversity(4), seed=1)
    seen, again = (evaluate(release, people, queries=20, seed=1) for _ in range(2))
    assert seen.attacked is not None
    stated = seen.to_dict()["attacked"]
    assert stated == again.to_dict()["attacked"]
    assert stated["right"]["learner"] > 0.4 > stated["bound"]
    assert stated["summary"] == seen.attacked.summary
    assert "right for" in render(seen)


def test_whatever_the_form_the_quickest_attack_is_told() -> None:
    people = planted(400, 0.5, seed=1)
    forms: dict[str, tuple[sf.Microdata, Release]] = {
        "has studied half of the table, and reads": (people, sf.perturb(people, m=2, seed=1)),
        "nearest": (people, sf.mask(people, sf.Swap(0.05), seed=1)),
    }
    two = microdata(["age", "sex"], ["disease", "city"])
    forms["learner"] = two, sf.publish(two, sf.Mondrian(), sf.KAnonymity(5), seed=1)
    for who, (table, release) in forms.items():
        seen = evaluate(release, table, queries=5, seed=1).attacked
        assert seen is not None
        (one,) = seen.findings
        assert who in f"{one.name}: {one.who}"
        assert "None" not in seen.summary
        assert "of 100" in seen.summary


@pytest.mark.parametrize("why", ["few", "many"])
def test_where_nothing_can_be_guessed_nothing_is_said(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = planted(60 if why == "few" else 400, 0.5, seed=1)
    release: Release = sf.publish(people, sf.Mondrian(), sf.LDiversity(2), seed=1)
    if why == "many":
        monkeypatch.setattr(attacking, "QUICK_ROWS", 399)
    seen = evaluate(release, people, queries=5, seed=1)
    assert seen.attacked is None
    assert seen.to_dict()["attacked"] is None
    assert "What an attacker makes of it" not in render(seen)


def test_another_table_is_refused() -> None:
    table = TABLES["plain"]()
    with pytest.raises(DataError, match="240 rows and the table has 239"):
        evaluate(boxes(table), microdata(["age", "sex", "city"], ["disease"], n=239))
    with pytest.raises(SchemaError, match="'city' is quasi in the release"):
        evaluate(boxes(table), microdata(["age", "sex"], ["disease"]))
    with pytest.raises(SchemaError, match="'pay' is quasi in the schema only"):
        evaluate(boxes(table), microdata(["age", "sex", "city", "pay"], ["disease"]))
    with pytest.raises(ParameterError, match="queries"):
        evaluate(boxes(table), table, queries=0)


def other(**changed: Any) -> sf.Microdata:
    columns = {name: people(seed=6)[name] for name in ("age", "sex", "city", "disease")}
    schema = sf.Schema(quasi=["age", "sex", "city"], sensitive="disease")
    return sf.Microdata.from_arrow(pa.table({**columns, **changed}), schema)


@pytest.mark.parametrize("make", [boxes, apart])
def test_a_table_of_other_people_is_refused(make: Callable[[sf.Microdata], Any]) -> None:
    release = make(TABLES["plain"]())
    for table in (other(), other(disease=["x"] * N), other(age=[people()["age"][0] + 100] * N)):
        for judge in (measured, lambda table, release: sf.usefulness(release, table)):
            with pytest.raises(DataError, match="give the table that it was made of"):
                judge(table, release)


def test_values_of_other_people_show() -> None:
    """Every column is as it was, and no line is: only questions about two columns tell."""
    mine = people()
    shifted = {name: np.roll(mine[name], 1) for name in ("age", "disease")}
    seen = measured(other(sex=mine["sex"], city=mine["city"], **shifted), boxes(TABLES["plain"]()))
    assert seen.errors is not None
    assert seen.errors.comparison.coverage < 1
    assert "outside its bounds" in seen.advice[0].figure


def test_as_many_sensitive_values_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared value by value is no GROUP BY, of which only so many lines are listed."""
    monkeypatch.setattr("sfumato.answers.groups.MAX_KEYS", 100)
    table = other(disease=[f"d{i:03d}" for i in range(N)])
    seen = measured(table, apart(table))
    worst = [one for one in seen.distributions if one.among is not None]
    assert len(worst) == 3
    assert all(sum(one.truth) == 1 for one in worst)


def test_a_broken_promise_comes_first(tmp_path: Path) -> None:
    table = TABLES["plain"]()
    folder = boxes(table).write(tmp_path / "out")
    stated = json.loads((folder / "release.json").read_text())
    stated["promise"][0]["k"] = 100
    (folder / "release.json").write_text(json.dumps(stated))
    reseal(folder)
    seen = measured(table, folder)
    assert not seen.verification.ok
    assert "Do not publish" in seen.advice[0].text
    assert seen.errors is not None


def test_damaged_tables_are_not_asked(tmp_path: Path) -> None:
    table = TABLES["plain"]()
    folder = apart(table).write(tmp_path / "out")
    qit = pq.read_table(folder / "qit.parquet")
    pq.write_table(qit.slice(1), folder / "qit.parquet")
    with pytest.raises(ReleaseError, match="changed after it was written"):
        measured(table, folder)
    seen = measured(table, reseal(folder))
    assert not seen.verification.ok
    assert seen.errors is None
    assert "damaged" in seen.unasked["age"]


def figures(seen: Evaluation) -> str:
    return "\n".join(one.figure for one in seen.advice)


def test_advice_names_its_figure() -> None:
    table = TABLES["one value"]()
    assert "one has one value only" in figures(measured(table, boxes(table)))
    table = TABLES["plain"]()
    coarse = sf.publish(table, sf.Mondrian(), sf.KAnonymity(200))
    assert "100% for age" in figures(measured(table, coarse))
    both = sf.KAnonymity(2) & sf.DistinctLDiversity(4)
    seen = measured(table, sf.publish(table, sf.Mondrian(cuts="median"), both))
    assert "times as large as k asks" in figures(seen)
    assert any("Not k but distinct-l-diversity decides" in one.text for one in seen.advice)
    twins = microdata(["sex"], ["disease"])
    seen = measured(twins, sf.publish(twins, sf.Mondrian(), sf.KAnonymity(5)))
    assert any("--relaxed" in one.text for one in seen.advice)


@pytest.mark.parametrize(
    ("column", "labels", "words"),
    [
        ("numbers", "ranges", "the bounds"),
        ("texts", "ranges", "the bounds"),
    ],
)
def test_uneven_boxes_are_spoken_of(column: str, labels: Any, words: str) -> None:
    rare = np.append(np.zeros(80, int), np.arange(20))
    values = rare if column == "numbers" else [f"v{number}" for number in rare]
    tree = sf.Taxonomy.from_nested({"any": sorted({f"v{number}" for number in rare})})
    taxonomies = {"x": tree} if labels == "taxonomy" else None
    schema = sf.Schema(quasi=["x"], taxonomies=taxonomies)
    table = sf.Microdata.from_arrow(pa.table({"x": values}), schema)
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(60), labels=labels)
    found = [one for one in measured(table, release).advice if "another bin of x" in one.figure]
    assert words in found[0].text


def test_sets_are_advised_where_they_help_and_nowhere_else() -> None:
    leaves = {branch: [f"{branch}{number}" for number in range(10)] for branch in "ab"}
    tree = sf.Taxonomy.from_nested({"any": leaves})
    schema = sf.Schema(quasi=["x"], taxonomies={"x": tree})
    table = sf.read(pa.table({"x": ["a0", "a1", "b0", "b1"] * 30}), schema)
    labelled = sf.publish(table, sf.Mondrian(), sf.KAnonymity(60), labels="taxonomy", seed=1)
    seen = measured(table, labelled)
    (told,) = (one.text for one in seen.advice if "--labels sets" in one.text)
    effect = seen.effects["sets"]
    assert effect.before == pytest.approx(0.8)
    assert effect.after == pytest.approx(0)
    assert "0% of the rows are elsewhere then" in told
    # full-domain recoding shows its labels whatever is asked for, so sets change nothing
    recoded = sf.publish(table, sf.FullDomain(), sf.KAnonymity(60), seed=1)
    seen = measured(table, recoded)
    assert not any("--labels sets" in one.text for one in seen.advice)


def test_not_k_but_l_is_only_said_where_it_is_so() -> None:
    """Where rows are alike the groups are large without l, too."""
    twins = microdata(["sex"], ["disease"])
    both = sf.KAnonymity(2) & sf.DistinctLDiversity(2)
    seen = measured(twins, sf.publish(twins, sf.Mondrian(), both, seed=1))
    assert "lighter" not in seen.effects
    assert not any("Not k but" in one.text for one in seen.advice)


def test_all_cuts_are_advised_where_they_help() -> None:
    x = np.repeat(np.arange(8), 5)
    disease = np.where(np.isin(x, [5, 7]) & (np.arange(40) % 2 == 0), "b", "a")
    table = sf.read(pa.table({"x": x, "d": disease}), sf.Schema(quasi=["x"], sensitive="d"))
    both = sf.KAnonymity(2) & sf.DistinctLDiversity(2)
    seen = measured(table, sf.publish(table, sf.Mondrian(cuts="median"), both, seed=1))
    effect = seen.effects["cuts"]
    better = sf.publish(table, sf.Mondrian(cuts="all"), both, seed=1)
    assert effect.after == better.manifest.metrics["average_group_size"] < effect.before
    assert any('Mondrian(cuts="all")' in one.text for one in seen.advice)


def test_narrow_questions_advise_what_helps() -> None:
    random = np.random.default_rng(5)
    y = np.repeat(np.arange(16), [150, 50] * 8)
    columns = {"x": random.integers(0, 1000, len(y)), "z": random.integers(0, 1000, len(y)), "y": y}
    table = sf.read(pa.table(columns), sf.Schema(quasi=list(columns)))
    own = [f"SELECT COUNT(*) FROM t WHERE y = {value}" for value in range(16)]
    seen = evaluate(sf.publish(table, sf.Mondrian(), sf.KAnonymity(50), seed=1), table, own)
    assert any("Mondrian(workload=...)" in one.text for one in seen.advice)
    effect = seen.effects["workload"]
    assert effect.after < effect.before
    noise = TABLES["plain"]()
    own = [f"SELECT COUNT(*) FROM t WHERE age = {age} AND city = 'town 3'" for age in range(90)]
    seen = evaluate(sf.publish(noise, sf.Mondrian(), sf.KAnonymity(60), seed=1), noise, own)
    assert not any("Mondrian(workload=...)" in one.text for one in seen.advice)


def linked(n: int = 4000, values: int = 40) -> sf.Microdata:
    """A sensitive value that goes with the quasi-identifier, and nothing else in the table."""
    random = np.random.default_rng(3)
    age = random.integers(0, values, n)
    disease = (age + random.integers(0, 10, n)) % values
    named = {"age": age, "disease": [f"disease {code:02}" for code in disease]}
    return sf.Microdata.from_arrow(pa.table(named), sf.Schema(quasi=["age"], sensitive=["disease"]))


def association_error(release: Any, table: sf.Microdata) -> float:
    """The share of the rows that estimates put into a wrong cell of quasi by sensitive."""
    sql = "SELECT age, disease, COUNT(*) FROM t GROUP BY age, disease"
    cells = sf.compare(release, table, [sql])
    return float(np.abs(cells.estimate - cells.truth).sum() / table.n_rows / 2)


def test_lost_associations_are_not_passed_over() -> None:
    """Random counts come out well although hardly a relation is left; advice must not praise that.

    As on census data, where anatomized tables hardly beat the product of the marginals.
    """
    table = linked()
    release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(8), seed=1)
    assert association_error(release, table) > 0.5
    neighbours = sf.publish(table, sf.Anatomize(), sf.LDiversity(8), seed=1)
    assert association_error(neighbours, table) < 0.3
    seen = measured(table, release, queries=200)
    assert seen.errors is not None
    assert seen.errors.comparison.median < 0.2
    (only,) = seen.advice
    assert "beats the marginals by little" in only.text
    effect = seen.effects["near"]
    assert effect.after < effect.before / 2
    assert f"off by {effect.after:.1%}" in only.text


def test_queries_of_ones_own_are_spoken_of_alone() -> None:
    table = linked()
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(8), seed=1)
    (only,) = evaluate(release, table, ["SELECT COUNT(*) FROM t WHERE age < 20"]).advice
    assert "Your own queries" in only.text


def test_leaving_out_what_is_never_cut_makes_nothing_finer() -> None:
    """So no advice may promise it."""
    random = np.random.default_rng(4)
    columns = {"x": random.integers(0, 50, 200), "same": random.integers(0, 3, 200)}
    wide = sf.Microdata.from_arrow(pa.table(columns), sf.Schema(quasi=["x", "same"]))
    narrow = sf.Microdata.from_arrow(pa.table(columns), sf.Schema(quasi=["x"]))
    releases = [sf.publish(table, sf.Mondrian(), sf.KAnonymity(80)) for table in (wide, narrow)]
    losses = [release.manifest.metrics["ncp_by_attribute"] for release in releases]
    assert losses[0]["same"] == 1
    assert losses[0]["x"] == losses[1]["x"] < 1
    told = [one.text for one in measured(wide, releases[0]).advice if "100% for same" in one.figure]
    assert len(told) == 1
    assert "finer" not in told[0]


def test_stages_are_told() -> None:
    heard: list[tuple[str, float]] = []
    table = TABLES["plain"]()
    options = {"queries": 101, "progress": lambda stage, share: heard.append((stage, share))}
    measured(table, boxes(table), **options)
    stages = ["verifying", *["comparing"] * 3, *["asking"] * 3, "attacking"]
    assert [stage for stage, _ in heard] == stages
    assert all(0 <= share < 1 for _, share in heard)
