"""Risk of tables and releases, against its definitions."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audits.risk.persons import PeopleInGroups, RowsPerPerson
from sfumato.audits.risk.population import mean_chances, pitman_uniques
from sfumato.engines.parts import open_parts
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning
from sfumato.verbs.publishing import OwnGroups
from tests.support.seeds import long_seed

SCHEMA = sf.Schema(quasi=["age", "sex"], sensitive="pay")
PEOPLE = pa.table({
    "age": [30, 30, 30, 40, 40, 50],
    "sex": ["f", "f", "m", "f", "f", "m"],
    "pay": [1, 1, 2, 1, 2, 3],
    "home": [1, 2, 1, 2, 3, 3],
    "who": ["a", "a", "b", "c", "d", "e"],
    "weight": [2.0, 2.0, 10.0, 5.0, 5.0, 1.0],
})  # fmt: skip


def test_the_figures_of_a_table_that_can_be_counted_by_hand() -> None:
    risk = sf.assess(PEOPLE, SCHEMA)
    assert (risk.people, risk.classes, risk.unique_rows, risk.smallest_class) == (6, 4, 2, 1)
    assert risk.prosecutor.each is not None
    assert risk.prosecutor.each.tolist() == [0.5, 0.5, 1, 0.5, 0.5, 1]
    assert risk.marketer == pytest.approx(4 / 6)
    (pay,) = risk.attributes
    assert (pay.certain, pay.likely, pay.baseline, pay.highest) == (4, 6, 0.5, 1.0)
    assert pay.guesses == (0, 0, 0, 0, 0, 2, 0, 0, 0, 4)
    assert risk.sentences[1].startswith("4 people's pay is certain to whoever knows their age and")


def test_the_most_exposed_column_is_told_of_first() -> None:
    rows = pa.table({"age": [1, 1, 2, 2], "job": [1, 2, 3, 4], "ill": [5, 5, 6, 7]})
    risk = sf.assess(rows, sf.Schema(quasi=["age"], sensitive=["job", "ill"]))
    assert risk.sentences[1].startswith("2 people's ill is certain to whoever knows their age ")
    assert risk.sentences[2].startswith("Nobody's job is certain to whoever knows these; of 4 ")


def test_a_share_that_is_not_nothing_is_not_called_so() -> None:
    n = 6000
    ages = pa.table({"age": [0, *([1] * (n // 2)), *([2] * (n // 2 - 1))], "w": [1e6] * n})
    schema = sf.Schema(quasi=["age"])
    said = " ".join(sf.assess(ages, schema, weight="w").sentences)
    assert "1 person of 6,000 (less than 0.1%) stands alone" in said
    assert "(less than 0.1%) are found" in said
    assert "0.0%" not in said
    assert ", 0% at worst" not in said
    nearly = pa.table({"age": [*range(n - 2), 1, 2]})
    found = sf.assess(nearly, schema)
    assert f"{n - 4:,} people of 6,000 (99.9%) stand" in found.sentences[0]
    assert "100.0%" in found.sentences[1]


def test_a_value_of_every_second_person_exposes_who_surely_has_it() -> None:
    """Whoever knows nothing guesses it at 50%; at 90% something is known of a person."""
    ages = [20] * 10 + [30] * 10 + [40] * 10
    ill = ["no"] * 9 + ["yes"] + ["no"] * 6 + ["yes"] * 4 + ["yes", "no"] * 5
    rare = ["a", "b"] * 5 + ["c", "d"] * 5 + ["e"] * 9 + ["f"]
    schema = sf.Schema(quasi=["age"], sensitive=["ill", "rare"])
    risk = sf.assess(pa.table({"age": ages, "ill": ill, "rare": rare}), schema)
    common, other = risk.attributes
    assert (common.baseline, common.likely, common.sure, common.exposed) == (2 / 3, 30, 0.9, 10)
    assert (other.likely, other.sure, other.exposed) == (30, 0.5, 30)
    assert risk.sentences[1:3] == (
        "Nobody's rare is certain to whoever knows their age; of 30 people it can be guessed at "
        "50% or more.",
        "Nobody's ill is certain to whoever knows these; of 10 people it can be guessed at 90% or "
        "more (66.7% of all have the most frequent one).",
    )
    assert common.to_dict()["exposed"] == 10
    most = ["no"] * 20 + ["yes"] + ["no"] * 9
    (nearly_all,) = sf.assess(
        pa.table({"age": ages, "ill": most}), sf.Schema(quasi=["age"], sensitive="ill")
    ).attributes
    assert (nearly_all.baseline, nearly_all.sure, nearly_all.exposed) == (29 / 30, 1.0, 20)


def test_people_with_several_rows_are_not_a_crowd() -> None:
    risk = sf.assess(PEOPLE, SCHEMA, person="who")
    assert (risk.people, risk.unique_rows) == (5, 3)  # a's two rows hide nobody
    assert risk.prosecutor.each is not None
    assert risk.prosecutor.each.tolist() == [1, 1, 0.5, 0.5, 1]
    assert risk.attributes[0].certain == 3


def test_a_household_is_found_with_any_member() -> None:
    found = sf.assess(PEOPLE, SCHEMA, household="home").households
    assert found is not None
    assert found.each is not None
    assert found.each.tolist() == pytest.approx([1, 0.75, 1, 0.75, 1, 1])


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 6)),
        min_size=1, max_size=30,
    )
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_chances_and_guesses_follow_their_definitions(rows: list[tuple[int, ...]]) -> None:
    table = pa.table(dict(zip("abcw", map(list, zip(*rows, strict=True)), strict=True)))
    risk = sf.assess(table, sf.Schema(quasi=["a", "b"], sensitive="c"), person="w")
    people, values = defaultdict(set), defaultdict(list)
    for a, b, c, who in rows:
        people[a, b].add(who)
        values[a, b].append(c)
    worst: dict[int, float] = defaultdict(float)
    best: dict[int, float] = defaultdict(float)
    for a, b, _, who in rows:
        some, n = values[a, b], len(people[a, b])
        worst[who] = max(worst[who], 1 / n)
        share = 1.0 if n == 1 else max(map(some.count, some)) / len(some)
        best[who] = max(best[who], share)
    assert risk.prosecutor.each is not None
    assert sorted(risk.prosecutor.each.tolist()) == pytest.approx(sorted(worst.values()))
    assert risk.attributes[0].certain == sum(share == 1 for share in best.values())
    assert risk.attributes[0].likely == sum(share >= 0.5 for share in best.values())
    assert sum(risk.attributes[0].guesses) == risk.people == len(worst)


def census(n: int, seed: int = 0) -> pa.Table:
    """A population with a few frequent and many rare kinds of people."""
    draw = np.random.default_rng(seed)
    return pa.table({
        "age": np.clip(draw.normal(45, 18, n).astype(int), 0, 100),
        "place": np.minimum(draw.zipf(1.6, n), 3000),
        "job": np.minimum(draw.geometric(0.08, n), 60),
        "sex": draw.integers(0, 2, n),
    })  # fmt: skip


QUASI = ["age", "place", "job", "sex"]


@pytest.mark.parametrize(("seed", "rate"), [(0, 0.1), (1, 0.05), (2, 0.2)])
def test_population_uniques_are_near_the_truth_where_the_population_is_known(
    seed: int, rate: float
) -> None:
    everybody = census(60_000, seed)
    draw = np.random.default_rng(seed + 100)
    chosen = np.flatnonzero(draw.random(60_000) < rate)
    sample = everybody.take(pa.array(chosen))
    sample = sample.append_column("weight", pa.array(np.full(len(chosen), 60_000 / len(chosen))))
    truly = sf.assess(everybody, sf.Schema(quasi=QUASI), sets=0).unique_rows
    found = sf.assess(sample, sf.Schema(quasi=QUASI), weight="weight", sets=0).population
    assert found is not None
    assert "Pitman" in found.estimator
    assert found.size == pytest.approx(60_000)
    assert abs(found.unique / truly - 1) < 0.25
    assert abs(found.unique / (1.6 * truly) - 1) > 0.25  # a shifted truth is rejected
    alone = sf.assess(sample, sf.Schema(quasi=QUASI), sets=0).unique_rows
    assert abs(alone / rate / truly - 1) > 0.25  # and so is the sample blown up


def test_a_list_gives_the_journalist_the_same_as_counting_it() -> None:
    everybody = census(5_000)
    chosen = np.arange(0, 5_000, 5)
    sample = everybody.take(pa.array(chosen))
    risk = sf.assess(sample, sf.Schema(quasi=QUASI), population=everybody, sets=0)
    rows = list(zip(*(everybody[name].to_pylist() for name in QUASI), strict=True))
    counts = {row: rows.count(row) for row in {rows[i] for i in chosen}}
    assert risk.journalist is not None
    assert risk.journalist.each is not None
    assert risk.journalist.each.tolist() == pytest.approx([1 / counts[rows[i]] for i in chosen])
    assert risk.marketer == pytest.approx(float(risk.journalist.each.mean()))
    assert risk.population is not None
    assert risk.population.unique == sum(count == 1 for count in counts.values())


def test_the_mean_chance_is_that_of_the_negative_binomial_distribution() -> None:
    for people, weight in ((1, 10.0), (2, 7.0), (3, 4.0), (5, 60.0), (12, 20.0), (40, 400.0)):
        p = people / weight
        likely = [
            math.exp(
                math.lgamma(size) - math.lgamma(people) - math.lgamma(size - people + 1)
                + people * math.log(p) + (size - people) * math.log1p(-p)
            ) / size
            for size in range(people, 20_000)
        ]  # fmt: skip
        found = mean_chances(np.array([people]), np.array([weight]))
        assert found[0] == pytest.approx(sum(likely), rel=1e-6)
    assert mean_chances(np.array([4]), np.array([4.0]))[0] == pytest.approx(1 / 4)


def test_uniques_at_the_ends() -> None:
    assert pitman_uniques(np.array([1, 1, 1]), 300.0) == 300.0
    assert pitman_uniques(np.array([2, 5, 3]), 300.0) == 0.0


def patients(n: int = 600) -> sf.Microdata:
    draw = np.random.default_rng(4)
    table = pa.table({
        "age": draw.integers(0, 90, n), "sex": draw.choice(["f", "m"], n),
        "pay": draw.integers(0, 12, n),
    })  # fmt: skip
    return sf.Microdata.from_arrow(table, SCHEMA)


@pytest.mark.parametrize("form", ["generalized", "anatomized", "permuted"])
def test_what_is_left_in_a_release_is_counted_from_its_groups(form: Any, tmp_path: Path) -> None:
    release: Any = sf.publish(patients(), sf.Mondrian(), sf.LDiversity(3), form=form)
    risk = sf.assess(release)
    assert risk.attributes[0].highest <= 1 / 3
    assert risk.attributes[0].certain == 0
    assert risk.unique_rows == (0 if form == "generalized" else sf.assess(patients()).unique_rows)
    stored = sf.assess(release.write(tmp_path / "out"))
    assert stored.to_dict() == risk.to_dict()
    assert len(risk.sentences) >= 3


def test_boxes_among_the_people_of_a_list() -> None:
    """Twice as many people fit every box if everybody is listed twice."""
    table = patients()
    known = pa.table(
        {name: table.attributes[name].decode(table.codes[name]) for name in ("age", "sex")}
    )
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5))
    once = sf.assess(release, population=known)
    twice = sf.assess(release, population=pa.concat_tables([known, known]))
    assert once.journalist is not None
    assert twice.journalist is not None
    assert once.journalist.highest == once.prosecutor.highest
    assert twice.journalist.average == pytest.approx(once.journalist.average / 2)


def test_a_database_keeps_its_promise(tmp_path: Path) -> None:
    db = sf.StatDB.create(tmp_path / "db", patients(), m=4)
    risk = sf.assess(db)
    assert risk.people == 600
    assert risk.attributes[0].highest <= 1 / 4


def test_a_database_shows_who_is_there_unless_it_answers_from_boxes(tmp_path: Path) -> None:
    """Counts without a condition on the value are exact: whoever stands alone is found."""
    table, open_ = patients(), sf.StatDB.create(tmp_path / "open", patients(), m=4)
    before, risk = sf.assess(table), sf.assess(open_)
    assert risk.unique_rows == before.unique_rows > 0
    assert (risk.prosecutor.highest, risk.marketer) == (1, before.marketer)
    assert "stand alone on" in risk.sentences[0]
    with pytest.warns(SfumatoWarning, match="does not declare"):
        boxed = sf.StatDB.create(tmp_path / "boxed", patients(), m=4, framework="generalization")
    assert sf.assess(boxed).unique_rows == 0


@pytest.mark.parametrize("cohort", ["default", 2])
def test_values_hide_among_those_of_counterfeits(cohort: Any, tmp_path: Path) -> None:
    """Lists stay when rows go: what they promise is not lost with those who left."""
    table = patients()
    db = sf.StatDB.create(tmp_path / "db", table, m=4, cohort=cohort)
    before = sf.assess(db).attributes[0]
    db.apply(deleted=table.take(np.arange(500)))
    after = sf.assess(sf.StatDB.open(tmp_path / "db")).attributes[0]
    assert (before.people, after.people) == (600, 100)
    assert after.highest <= before.highest <= 1 / 4
    assert (after.certain, after.likely, sum(after.guesses)) == (0, 0, 100)


def test_a_table_beyond_memory_has_the_same_figures(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "people.parquet"
    pq.write_table(PEOPLE, path)
    with open_parts(path, SCHEMA, 1) as parts:
        assert parts.engine is not None
        streamed = sf.assess(parts)
    whole = sf.assess(PEOPLE, SCHEMA)
    for name in ("classes", "unique_rows", "marketer", "smallest_class"):
        assert getattr(streamed, name) == getattr(whole, name)
    assert streamed.attributes == whole.attributes
    assert streamed.sets is None


def test_rows_per_person_say_what_k_promises() -> None:
    found = RowsPerPerson.of(PEOPLE, "who")
    assert (found.people, found.most) == (5, 2)
    assert "a group of 5 rows may be 3 people; --k 10 promises 5 people" in str(found.warning(5))
    assert RowsPerPerson.of(PEOPLE.append_column("id", [range(6)]), "id").warning(5) is None


def test_bad_input_is_refused_with_what_would_work(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="needs a schema"):
        sf.assess(PEOPLE)
    with pytest.raises(SchemaError, match="was not kept"):
        sf.assess(sf.read(PEOPLE, SCHEMA), person="who")
    odd = PEOPLE.set_column(5, "weight", pa.array([0.0] * 6))
    with pytest.raises(DataError, match="above 0"):
        sf.assess(odd, SCHEMA, weight="weight")
    with pytest.raises(DataError, match="no numbers"):
        sf.assess(PEOPLE, SCHEMA, weight="sex")
    with pytest.raises(ParameterError, match="not both"):
        sf.assess(PEOPLE, SCHEMA, weight="weight", population=PEOPLE)
    release = sf.publish(patients(), sf.Mondrian(), sf.KAnonymity(5))
    with pytest.raises(ParameterError, match="names nobody"):
        sf.assess(release, person="who")
    with pytest.raises(SchemaError, match="no column 'whom'"):
        sf.assess(PEOPLE, SCHEMA, person="whom")


def _visits() -> pa.Table:
    """Forty people of one row and one of twenty, all of the last in the groups of two ages."""
    ages = [*range(20, 60), *([30] * 10), *([50] * 10)]
    who = [*range(40), *([99] * 20)]
    ills = [f"i{one % 7}" for one in range(60)]
    return pa.table({"age": ages, "ill": ills, "who": who})


@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Anatomize()], ids=str)
def test_people_of_groups_are_counted_once(algorithm: Any, tmp_path: Path) -> None:
    """By brute force over the groups that the owner is told of."""
    heard: list[OwnGroups] = []
    table, schema = _visits(), sf.Schema(quasi=["age"], sensitive="ill")
    model = sf.KAnonymity(5) if algorithm == sf.Mondrian() else sf.LDiversity(3)
    manifest = sf.publish_file(
        table, schema, algorithm, model, tmp_path / "out", seed=long_seed(1), owner=heard.append
    )
    (own,), rows = heard, RowsPerPerson.of(table, "who")
    found = PeopleInGroups.of(own, rows.who)
    people = defaultdict(set)
    for group, who in zip(own.groups.tolist(), table["who"].to_pylist(), strict=True):
        people[group].add(who)
    least = min(map(len, people.values()))
    assert sorted(found.alike.people.tolist()) == sorted(map(len, people.values()))
    assert found.risk(manifest.kind).people == 41
    if manifest.kind == "generalized":
        assert f"one of {least} at least" in found.risk(manifest.kind).sentences[0]
    few = sum(len(one) <= least for one in people.values())
    said = (
        f"{few} of {len(people)} groups have fewer than {least + 1} people, the smallest {least} "
    )
    assert said in str(rows.warning_of(found, least + 1))
    assert rows.warning_of(found, least) is None


def test_people_of_rows_that_are_left_out_are_no_longer_there() -> None:
    rows = np.array([0, 1, 3])
    table = sf.read(PEOPLE, SCHEMA).take(rows)
    own = OwnGroups(table, np.array([0, 0, 1], np.int32), rows)
    found = PeopleInGroups.of(own, RowsPerPerson.of(PEOPLE, "who").who)
    assert found.alike.people.tolist() == [1, 1]
    assert found.risk("generalized").people == 2
    assert found.risk("generalized").unique_rows == 2
