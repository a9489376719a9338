"""What an adversary makes of a release, against a plain reading of the published rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audits.breach import (
    Belief,
    belief,
    individual_breach,
    matching,
    partition_breach,
    row_breach,
    uncertain_belief,
)
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.forms.registry import Release
from sfumato.models.requirements import requirements
from tests.support.releases import anatomized
from tests.support.sealing import reseal
from tests.support.strategies import RANKS, SPARSE, tables
from tests.support.tables import microdata, partition

FORMS = st.sampled_from(["anatomized", "ranges", "sets"])
ORDERS: dict[str, tuple[Any, ...]] = {"sparse": SPARSE, "rank": RANKS}


def publish(table: sf.Microdata, form: str, relaxed: bool = False, k: int = 2) -> Release:
    if table.n_rows < 2:
        reject()
    model = sf.KAnonymity(min(k, table.n_rows))
    algorithm = sf.Mondrian(relaxed=relaxed)
    if form == "anatomized":
        needs = requirements(model, table.schema)
        groups = algorithm.partition(table, needs, Randomness(1)).groups
        return anatomized(table, groups.tolist())
    return sf.publish(table, algorithm, model, labels=form, seed=1)  # type: ignore[call-overload,no-any-return]


def persons(table: sf.Microdata) -> list[dict[str, Any]]:
    columns = {a.name: a.decode(table.codes[a.name]).to_pylist() for a in table.quasi}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def covers(row: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether the published row may have this value."""
    if name in row:
        cell = row[name]
        return value in cell if isinstance(cell, list) else bool(value == cell)
    if value is None:
        return bool(row.get(f"{name}_missing", False))
    low, high = row[f"{name}_min"], row[f"{name}_max"]
    if low is None:
        return False
    if name in ORDERS:
        low, value, high = (ORDERS[name].index(v) for v in (low, value, high))
    return bool(low <= value <= high)


def fits(row: Mapping[str, Any], person: Mapping[str, Any]) -> bool:
    return all(covers(row, name, value) for name, value in person.items())


def naive(release: Release, person: Mapping[str, Any], sensitive: str) -> dict[Any, float]:
    """Theorem 1, word by word."""
    if isinstance(release, sf.AnatomizedTables):
        found = [row for row in release.qit.to_pylist() if fits(row, person)]
        st_rows = release.sts[sensitive].to_pylist()
        mixture: Counter[Any] = Counter()
        for row in found:
            group = [r for r in st_rows if r["group_id"] == row["group_id"]]
            size = sum(r["count"] for r in group)
            for r in group:
                mixture[r[sensitive]] += r["count"] / size / len(found)
        return dict(mixture)
    assert not isinstance(release, sf.JoinRelease)
    found = [row for row in release.table.to_pylist() if fits(row, person)]
    return {v: c / len(found) for v, c in Counter(row[sensitive] for row in found).items()}


def naive_presence(
    release: Release, person: Mapping[str, Any], everybody: list[dict[str, Any]]
) -> float:
    """Pr_A2 as the docstring of belief defines it."""
    assert not isinstance(release, sf.JoinRelease)
    anatomized = isinstance(release, sf.AnatomizedTables)
    table = release.qit if isinstance(release, sf.AnatomizedTables) else release.table
    quasi = [n for column in release.manifest.of_role(Role.QUASI) for n in column.columns]
    shown = [n for n in quasi if n in person] if anatomized else quasi
    cells: Counter[str] = Counter()
    looks: dict[str, Mapping[str, Any]] = {}
    for row in table.select(shown).to_pylist():
        cells[repr(row)] += 1
        looks[repr(row)] = row
    known = [{name: other[name] for name in person} for other in everybody]
    chance = 0.0
    for look, rows in cells.items():
        if fits(looks[look], person):
            chance += rows / max(1, sum(fits(looks[look], other) for other in known))
    return min(1.0, chance)


@pytest.mark.slow
@settings(max_examples=60)
@given(tables(max_rows=20), FORMS, st.booleans(), st.data())
def test_belief_is_what_a_plain_reading_gives(
    table: sf.Microdata, form: str, relaxed: bool, data: st.DataObject
) -> None:
    release = publish(table, form, relaxed)
    everybody = persons(table)
    known = data.draw(st.sampled_from(everybody))
    names = data.draw(st.lists(st.sampled_from(list(known)), min_size=1, unique=True))
    # values of different persons together: perhaps nobody's
    person = {name: data.draw(st.sampled_from(everybody))[name] for name in names}
    for sensitive in ("d", "e"):
        expected = naive(release, person, sensitive)
        found = belief(release, person, sensitive=sensitive)
        assert found.probabilities == pytest.approx(expected)
        assert list(found.probabilities.values()) == sorted(
            found.probabilities.values(), key=lambda chance: -round(chance, 12)
        )
        assert found.present == (1.0 if expected else 0.0)


@pytest.mark.slow
@settings(max_examples=40)
@given(tables(max_rows=16), FORMS, st.booleans(), st.data())
def test_presence_is_what_a_plain_count_gives(
    table: sf.Microdata, form: str, relaxed: bool, data: st.DataObject
) -> None:
    release = publish(table, form, relaxed)
    everybody = persons(table)
    listed = data.draw(st.lists(st.sampled_from(everybody), min_size=1, max_size=30))
    external = pa.table(
        {
            a.name: pa.array([person[a.name] for person in listed], a.values.type)
            for a in table.quasi
        }
    )
    person = data.draw(st.sampled_from(everybody))
    found = belief(release, person, sensitive="e", external=external)
    expected = naive_presence(release, person, listed)
    assert found.present == pytest.approx(expected)
    assert found.breach(None) == found.present * found.probabilities.get(None, 0.0)
    bulk = individual_breach(release, table, sensitive="e", external=external)
    values = table.attributes["e"].decode(table.codes["e"]).to_pylist()
    row = everybody.index(person)
    assert bulk.probabilities[row] == pytest.approx(found.breach(values[row]))


@pytest.mark.slow
@settings(max_examples=60)
@given(tables(max_rows=20), FORMS, st.booleans())
def test_everybody_at_once_is_one_after_another(
    table: sf.Microdata, form: str, relaxed: bool
) -> None:
    release = publish(table, form, relaxed)
    for sensitive in ("d", "e"):
        found = individual_breach(release, table, sensitive=sensitive)
        values = table.attributes[sensitive].decode(table.codes[sensitive]).to_pylist()
        alone = [
            belief(release, person, sensitive=sensitive).breach(value)
            for person, value in zip(persons(table), values, strict=True)
        ]
        assert found.probabilities.tolist() == pytest.approx(alone)
        assert found.unmatched == 0


def people(n: int = 600) -> sf.Microdata:
    rng = np.random.default_rng(4)
    return microdata(
        {
            "age": rng.integers(18, 90, n),
            "zip": rng.integers(0, 50, n),
            "town": rng.choice(["Ulm", "Bonn", "Jena", "Kiel"], n),
            "ill": rng.choice(["flu", "cold", "gout", "none"], n),
        },
        sensitive=["ill"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("relaxed", [False, True])
def test_many_boxes_in_portions(relaxed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(20_000)
    release = publish(table, "ranges", relaxed)
    assert release.manifest.groups > 4096  # more than one word of the summary
    whole = individual_breach(release, table).probabilities
    for limit, few in (("_HITS_AT_ONCE", 999), ("_BITS_AT_ONCE", 2**23)):
        monkeypatch.setattr(matching, limit, few)
        assert individual_breach(release, table).probabilities.tolist() == whole.tolist()
    values = table.attributes["ill"].decode(table.codes["ill"]).to_pylist()
    everybody = persons(table)
    for row in range(0, table.n_rows, 4999):
        expected = naive(release, everybody[row], "ill")
        assert whole[row] == pytest.approx(expected.get(values[row], 0.0))


@pytest.fixture(scope="module")
def patients() -> sf.Microdata:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        return sf.read(bundled / "patients.csv", sf.read_schema(bundled / "patients.toml"))


def test_labels_cover_the_values_below_them(patients: sf.Microdata) -> None:
    release = sf.publish(patients, sf.Mondrian(), sf.LDiversity(3), labels="taxonomy")
    person = {"job": "cook", "zipcode": "02175"}
    above_job = {"cook", "hospitality", "service", "any"}
    above_zip = {"02175", "0217*", "021**", "any"}
    fitting = [
        row
        for row in release.table.to_pylist()
        if row["job"] in above_job and row["zipcode"] in above_zip
    ]
    found = belief(release, person)
    assert found.rows == len(fitting)
    counts = Counter(row["disease"] for row in fitting)
    assert found.probabilities == pytest.approx({v: c / len(fitting) for v, c in counts.items()})


@pytest.mark.parametrize("labels", ["ranges", "sets", "taxonomy"])
def test_csv_files_tell_the_same(tmp_path: Path, patients: sf.Microdata, labels: Any) -> None:
    release = sf.publish(patients, sf.Mondrian(), sf.LDiversity(3), labels=labels)
    release.write(tmp_path / "csv", format="csv")
    again = sf.load(tmp_path / "csv")
    for row in (0, 5, 77):
        person = persons(patients)[row]
        assert belief(again, person) == belief(release, person)
    assert np.array_equal(
        individual_breach(again, patients).probabilities,
        individual_breach(release, patients).probabilities,
    )


def test_a_missing_value_in_a_set_written_as_csv(tmp_path: Path) -> None:
    table = microdata({"w": ["a", None, "b", "b"], "s": list("xyxy")}, sensitive=["s"])
    release = sf.publish(table, sf.Mondrian(), sf.LDiversity(2))
    release.write(tmp_path / "csv", format="csv")
    assert belief(sf.load(tmp_path / "csv"), {"w": None}) == belief(release, {"w": None})
    assert belief(release, {"w": None}).probabilities == {"x": 0.5, "y": 0.5}


def test_values_with_a_comma_are_found_in_csv_files(tmp_path: Path) -> None:
    jobs = ["nurse, night", "nurse", "cook", "night"] * 6
    table = microdata({"job": jobs, "s": list("xyzw") * 6}, sensitive=["s"])
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(12), labels="sets")
    again = sf.load(release.write(tmp_path / "csv", format="csv"))
    person = {"job": "nurse, night"}
    assert belief(again, person) == belief(release, person)
    assert belief(again, person).rows >= 12


def test_an_old_csv_file_without_quotes_is_still_read(tmp_path: Path) -> None:
    table = microdata({"job": list("abcd") * 6, "s": list("xyzw") * 6}, sensitive=["s"])
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(12), labels="sets")
    release.write(tmp_path / "csv", format="csv")
    text = (tmp_path / "csv" / "generalized.csv").read_text()
    (tmp_path / "csv" / "generalized.csv").write_text(text.replace("d}", "missing}"))
    again = sf.load(reseal(tmp_path / "csv"))
    assert belief(again, {"job": None}) == belief(release, {"job": "d"})
    assert belief(again, {"job": "b"}) == belief(release, {"job": "b"})


def test_rows_by_partition_and_from_the_release_agree() -> None:
    table = people(200)
    groups = partition([row // 20 for row in range(200)])
    found = partition_breach(groups, table)
    codes = table.codes["ill"]
    for row in (0, 19, 20, 133, 199):
        block = codes[row // 20 * 20 : row // 20 * 20 + 20]
        assert found.probabilities[row] == pytest.approx(np.mean(block == codes[row]))
    assert found.bound is None
    assert found.at_bound is None
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(3))
    assert row_breach(release).bound == pytest.approx(1 / 3)
    assert len(row_breach(release).probabilities) == 200


def test_summary_figures() -> None:
    table = microdata({"x": [1, 1, 2, 2, 2, 2], "s": list("abaabc")}, sensitive=["s"])
    found = individual_breach(publish(table, "anatomized"), table)
    stated = found.to_dict()
    assert stated["rows"] == 6
    assert stated["largest"] == found.largest == 0.5
    assert stated["at_largest"] == found.at_largest == 4
    assert stated["mean"] == pytest.approx((0.5 * 4 + 0.25 * 2) / 6)
    assert stated["quantiles"]["0.5"] == 0.5
    assert stated["at_bound"] is None  # nothing like l-diversity is promised


def test_formula_4_is_the_weighted_sum() -> None:
    release = publish(people(), "anatomized", k=5)
    one, other = persons(people())[:2]
    found = uncertain_belief(release, [(one, 0.6), (other, 0.3), ({"age": 1000}, 0.1)])
    assert found.present == pytest.approx(0.9)
    for value in ("flu", "cold", "gout", "none"):
        expected = 0.6 * belief(release, one).breach(value)
        expected += 0.3 * belief(release, other).breach(value)
        assert found.breach(value) == pytest.approx(expected)
    assert sum(found.probabilities.values()) == pytest.approx(1)
    nobody = uncertain_belief(release, [({"age": 1000}, 1.0)])
    assert (nobody.probabilities, nobody.present, nobody.largest) == ({}, 0, 0)


@pytest.mark.parametrize("chances", [[], [-0.1, 0.5], [0.7, 0.7], [float("nan")]])
def test_chances_must_be_chances(chances: list[float]) -> None:
    release = publish(people(), "anatomized")
    with pytest.raises(ParameterError, match="add up"):
        uncertain_belief(release, [({"age": 20}, chance) for chance in chances])


def test_an_incomplete_list_does_not_divide_by_nobody() -> None:
    table = people()
    release = publish(table, "ranges")
    elsewhere = pa.table(
        {"age": [500, 30, 500], "zip": [1, 500, 500], "town": ["Rome", "Rome", "Ulm"]}
    )
    found = belief(release, persons(table)[0], external=elsewhere)
    assert (found.present, found.listed) == (1.0, 0)


@pytest.mark.parametrize("form", ["anatomized", "ranges", "sets"])
def test_a_list_that_writes_values_in_another_way_is_refused(form: str) -> None:
    table = people()
    release = publish(table, form)
    listed = pa.table({"age": [30], "zip": [1], "town": ["ulm"]})
    for refuse in (
        lambda: belief(release, persons(table)[0], external=listed),
        lambda: individual_breach(release, table, external=listed),
    ):
        with pytest.raises(DataError, match=r"'town' on the external list .*Bonn, Jena") as caught:
            refuse()
        assert caught.value.source == "town"
    blank = pa.table({"age": [30], "zip": [1], "town": pa.array([None], pa.string())})
    assert belief(release, persons(table)[0], external=blank).present == 1.0


@pytest.mark.parametrize("form", ["anatomized", "ranges", "sets"])
def test_a_word_that_occurs_nowhere_is_no_reassurance(form: str) -> None:
    release = publish(people(), form)
    assert "occurs nowhere in the release; did you mean 'Bonn'?" in bad(release, {"town": "Bon"})
    assert "did you mean 'Bonn'?" in bad(release, {"age": 1000, "town": "bonn"})
    assert "it shows Bonn, Jena, Kiel, Ulm" in bad(release, {"town": "Rome"})
    with pytest.raises(ParameterError, match="did you mean 'Ulm'"):
        uncertain_belief(release, [({"town": "Ulm"}, 0.5), ({"town": "Ulmm"}, 0.5)])
    found = belief(release, {"town": "Ulm", "age": 1000})
    assert (found.rows, found.unseen) == (0, ("age",))
    assert found.to_dict()["unseen"] == ["age"]
    assert belief(release, {"town": "Ulm", "age": None}).rows == 0


def test_values_that_occur_but_not_together_are_nobody() -> None:
    table = microdata({"a": list("xxyy"), "b": list("uuvv"), "s": list("1212")}, sensitive=["s"])
    release = publish(table, "anatomized")
    found = belief(release, {"a": "x", "b": "v"})
    assert (found.rows, found.unseen) == (0, ())


def test_values_are_read_as_the_column_has_them() -> None:
    release = publish(people(), "ranges")
    assert belief(release, {"age": "30"}) == belief(release, {"age": 30})
    assert belief(release, {"age": 30.0}) == belief(release, {"age": 30})


def bad(release: Release, person: Mapping[str, Any], **more: Any) -> str:
    with pytest.raises((ParameterError, SchemaError, DataError)) as caught:
        belief(release, person, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_bad_use_says_what_would_work(patients: sf.Microdata) -> None:
    release = sf.publish(patients, sf.Mondrian(), sf.LDiversity(3))
    assert "did you mean 'zipcode'?" in bad(release, {"zipcod": "02175"})
    assert "it has age, sex" in bad(release, {"disease": "flu"})
    assert "int64" in bad(release, {"age": "old"})
    assert "int64" in bad(release, {"age": 10**30})
    assert "did you mean 'university'?" in bad(release, {"education": "universty"})
    assert "possible are none, primary" in bad(release, {"education": "xx"})
    assert "possible are" in bad(release, {"job": "zzzzzz"})
    assert "at least one" in bad(release, {})
    assert "did you mean 'disease'?" in bad(release, {"age": 30}, sensitive="diseas")
    voters = pa.table({"agee": [3]})
    assert "did you mean 'agee'?" in bad(release, {"age": 30}, external=voters)
    text = pa.table({"age": ["old"]})
    assert "holds string values" in bad(release, {"age": 30}, external=text)


def test_text_is_refused_with_a_reason(patients: sf.Microdata) -> None:
    release = sf.publish(patients, sf.Mondrian(), sf.LDiversity(3), labels="text")
    assert "labels ranges, sets or taxonomy" in bad(release, {"age": 30})
    with pytest.raises(ParameterError, match="published as text"):
        individual_breach(release, patients)
    assert row_breach(release).largest <= 1 / 3 + 1e-9


def test_which_sensitive_column() -> None:
    table = microdata({"x": [1, 1], "s": ["a", "b"], "t": ["c", "d"]}, sensitive=["s", "t"])
    release = sf.publish(table, sf.Mondrian(), sf.LDiversity(2))
    assert "name one of s, t" in bad(release, {"x": 1})
    assert belief(release, {"x": 1}, sensitive="t").probabilities == {"c": 0.5, "d": 0.5}
    plain = microdata({"x": [1, 1]})
    assert "no column is sensitive" in bad(
        sf.publish(plain, sf.Mondrian(), sf.KAnonymity(2)), {"x": 1}
    )


def test_a_true_table_that_does_not_belong(patients: sf.Microdata) -> None:
    release = publish(people(), "ranges")
    with pytest.raises(SchemaError, match="no sensitive column 'ill'"):
        individual_breach(release, patients)
    other = microdata({"age": [1], "ill": ["flu"]}, sensitive=["ill"])
    with pytest.raises(SchemaError, match="quasi-identifier 'zip'"):
        individual_breach(release, other)
    strangers = microdata(
        {"age": [999, 30], "zip": [1, 1], "town": ["Ulm", "Ulm"], "ill": ["flu", "plague"]},
        sensitive=["ill"],
    )
    with pytest.raises(DataError, match=r"made of 600 rows and the table has 2; .*--query"):
        individual_breach(release, strangers)


@pytest.mark.parametrize("form", ["anatomized", "ranges"])
def test_a_table_that_dilutes_the_breach_is_refused(form: str) -> None:
    table = people()
    release = publish(table, form)
    rows = {n: a.decode(table.codes[n]).to_pylist() for n, a in table.attributes.items()}
    worse = microdata({**rows, "ill": [*rows["ill"][:-1], "plague"]}, sensitive=["ill"])
    with pytest.raises(DataError, match="other counts than the table has"):
        individual_breach(release, worse)
    flu = rows["ill"].index("flu")
    moved = [*rows["ill"]]
    moved[flu] = "cold"
    with pytest.raises(DataError, match="other counts"):
        individual_breach(release, microdata({**rows, "ill": moved}, sensitive=["ill"]))
    away = microdata({**rows, "age": [1000, *rows["age"][1:]]}, sensitive=["ill"])
    with pytest.raises(DataError, match="1 rows of the true table fit no published row"):
        individual_breach(release, away)


def test_rows_that_were_left_out_may_fit_nothing() -> None:
    towns = sf.Taxonomy.from_nested({"*": {"west": ["a", "b"], "east": ["c"]}})
    table = microdata(
        {"town": ["a"] * 10 + ["b"] * 10 + ["c"], "s": (list("xy") * 11)[:21]},
        sensitive=["s"],
        taxonomies={"town": towns},
    )
    release = sf.publish(table, sf.FullDomain(suppress=0.1), sf.KAnonymity(5))
    found = individual_breach(release, table)
    assert release.manifest.suppressed == found.unmatched == 1


def test_a_tampered_release_is_refused() -> None:
    release = publish(people(), "anatomized")
    assert isinstance(release, sf.AnatomizedTables)
    broken = sf.AnatomizedTables(release.qit.slice(1), release.sts, release.manifest)
    assert "rows" in bad(broken, {"age": 30})


def test_a_belief_as_a_document() -> None:
    found = Belief("s", {"a": 0.75, "b": 0.25}, rows=4, groups=1, present=0.5, listed=8)
    stated = found.to_dict()
    assert stated["values"][0] == {"value": "a", "probability": 0.75, "breach": 0.375}
    assert (stated["largest"], stated["present"], stated["listed"]) == (0.75, 0.5, 8)


@pytest.mark.parametrize("form", ["anatomized", "permuted", "generalized"])
def test_values_that_were_dealt_to_other_rows_are_refused(form: Any) -> None:
    """Though there are as many of each as in the table that was published."""
    random = np.random.default_rng(1)
    ages = random.integers(20, 60, 200)
    rows = pa.table({"age": ages, "ill": [f"i{age // 8}{i % 3}" for i, age in enumerate(ages)]})
    schema = sf.Schema(quasi=["age"], sensitive="ill")
    table = sf.read(rows, schema)
    release = sf.publish(table, sf.Mondrian(), sf.LDiversity(3), form=form)
    sf.individual_breach(release, table)
    dealt = rows.set_column(1, "ill", pa.concat_arrays(rows["ill"].chunks).take(
        pa.array(np.roll(np.arange(200), 1))))  # fmt: skip
    with pytest.raises(DataError, match="rows and values do not go together as they were publish"):
        sf.individual_breach(release, sf.read(dealt, schema))
