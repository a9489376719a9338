"""Estimates that learn from all groups: a plain twin, what they keep, and a control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.asking.ask import answerer
from sfumato.core.arrays import Floats
from sfumato.learning.naive_bayes import WEIGHT
from sfumato.learning.within_groups import ROUNDS, LearntTables

L = 4


def people(n: int = 4_000, seed: int = 0) -> sf.Microdata:
    """Illness goes with age, or with the town; one town in twenty is missing."""
    random = np.random.default_rng(seed)
    age, town = random.integers(20, 60, n), random.integers(0, 6, n)
    drawn = random.integers(0, 12, n)
    ill = np.choose(random.integers(0, 4, n), [(age - 20) // 5, (age - 20) // 5, 2 * town, drawn])
    columns = {
        "age": age,
        "town": pa.array([f"t{one}" for one in town], mask=random.random(n) < 0.05),
        "ill": pa.array([f"i{one:02}" for one in ill]),
    }
    return sf.read(pa.table(columns), sf.Schema(quasi=["age", "town"], sensitive="ill"))


def error(source: sf.AnatomizedTables | sf.Sharpened, table: sf.Microdata) -> float:
    questions = sf.dynamic_workload(table, queries=200, dimensionality=1, length=0.2, seed=3)
    truth, found = table.counts(questions).estimate, source.counts(questions).estimate
    return float(np.abs(found - truth).sum() / truth.sum())


def twin(release: sf.AnatomizedTables) -> dict[tuple[int, str], float]:
    """The chance of every row of the QIT to have every value of its group, in plain Python."""
    rows = release.qit.to_pylist()
    counts = {(one["group_id"], one["ill"]): one["count"] for one in release.st.to_pylist()}
    ages = sorted({row["age"] for row in rows})
    assert len(ages) <= 64  # so that each age has a bin of its own
    scale = dict(counts)
    chance: dict[tuple[int, str], float] = {}

    def hand_out(model: dict[tuple[str, object, str], float] | None) -> None:
        given = dict.fromkeys(counts, 0.0)
        for i, row in enumerate(rows):
            own = [value for group, value in counts if group == row["group_id"]]
            mass = {}
            for value in own:
                mass[value] = scale[row["group_id"], value]
                for name in ("age", "town") if model else ():
                    mass[value] *= model[name, row[name], value]  # type: ignore[index]
            for value in own:
                chance[i, value] = mass[value] / sum(mass.values())
                given[row["group_id"], value] += chance[i, value]
        for entry in counts:
            scale[entry] *= counts[entry] / given[entry]

    def expected() -> dict[tuple[str, object, str], float]:
        sums: dict[tuple[str, object, str], float] = {}
        for (i, value), share in chance.items():
            for name in ("age", "town"):
                key = (name, rows[i][name], value)
                sums[key] = sums.get(key, 0.0) + share
        return sums

    values = {value for _, value in counts}
    towns = {row["town"] for row in rows} | {None}
    bins: dict[str, set[object]] = {"age": set(ages), "town": set(towns)}
    hand_out(None)
    first = expected()
    weight = WEIGHT * len(rows) / len({row["group_id"] for row in rows})
    for _ in range(ROUNDS):
        now, model = expected(), {}
        for name, places in bins.items():
            sums = {
                (place, value): first.get((name, place, value), 0)
                + now.get((name, place, value), 0)
                for place in places
                for value in values
            }
            everybody = {place: sum(sums[place, v] for v in values) for place in places}
            whole = sum(everybody.values())
            for place, value in sums:
                share = (everybody[place] + 1) / (whole + len(places))
                of_value = sum(sums[other, value] for other in places)
                model[name, place, value] = (sums[place, value] + weight * share) / (
                    of_value + weight
                )
        hand_out(model)
    for _ in range(50):
        hand_out(model)
    return chance


def test_the_kernels_do_what_a_plain_twin_does() -> None:
    table = people(300)
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(L), seed=1)
    chance, rows = twin(release), release.qit.to_pylist()
    learnt = sf.sharpen(release)
    for low, town, wanted in [(20, "t1", "i03"), (30, "t4", "i07"), (45, "t2", "i00")]:
        expected = sum(
            chance.get((i, wanted), 0.0)
            for i, row in enumerate(rows)
            if low <= row["age"] < low + 15 and row["town"] == town
        )
        where = f"age >= {low} AND age < {low + 15} AND town = '{town}' AND ill = '{wanted}'"
        assert learnt.count(where).estimate == pytest.approx(expected, abs=0.02)


def test_estimates_are_nearer_where_something_is_to_be_learnt_and_bounds_stay() -> None:
    table = people()
    for way, most in ((sf.Anatomize(), 0.95), (sf.Anatomize(near=False), 0.75)):
        release = sf.publish(table, way, sf.LDiversity(L), seed=1)
        learnt = sf.sharpen(release)
        assert error(learnt, table) < most * error(release, table)
        questions = sf.anatomy_workload(table, queries=100, dimensionality=2, seed=5)
        ours, usual = learnt.counts(questions), release.counts(questions)
        assert (ours.lo == usual.lo).all()
        assert (ours.hi == usual.hi).all()
        assert ((ours.lo <= ours.estimate) & (ours.estimate <= ours.hi)).all()


def test_where_nothing_is_to_be_learnt_nothing_is_won() -> None:
    table = people()
    mixed = np.random.default_rng(8).permutation(table.codes["ill"])
    table = replace(table, codes={**table.codes, "ill": mixed})
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(L), seed=1)
    assert 0.9 < error(sf.sharpen(release), table) / error(release, table) < 1.5


def test_groups_give_what_they_have() -> None:
    release = sf.publish(people(), sf.Anatomize(), sf.LDiversity(L), seed=1)
    tables = answerer(sf.sharpen(release))
    assert isinstance(tables, LearntTables)
    assert tables.within is not None
    within = tables.within["ill"]
    every: Floats = np.zeros(len(within.values.whole))
    for value in range(len(every)):
        wanted = np.arange(len(every)) == value
        chances, by_value = within.expected(np.arange(len(within.lines)), wanted)
        assert chances.sum() == pytest.approx(by_value[value])
        every[value] = by_value[value]
    assert every == pytest.approx(within.values.whole, rel=0.02)


def test_group_by_agrees_with_count() -> None:
    table = people()
    learnt = sf.sharpen(sf.publish(table, sf.Anatomize(), sf.LDiversity(L), seed=1))
    for by, given in [
        ("town", "ill IN ('i01', 'i02')"),
        ("ill", "age < 40"),
        ("ill", "ill < 'i05' AND age > 30"),
    ]:
        found = learnt.query(f"SELECT {by}, COUNT(*) FROM t WHERE {given} GROUP BY {by}")
        for (key,), (answer,) in zip(found.keys, found.answers, strict=True):
            alone = f"{by} IS NULL" if key is None else f"{by} = '{key}'"
            assert answer.estimate == pytest.approx(learnt.count(f"{given} AND {alone}").estimate)


def test_what_one_table_answers_is_exact_and_other_aggregates_are_as_before() -> None:
    table = people()
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(L), seed=1)
    learnt = sf.sharpen(release)
    for exact in ("age < 30", "ill = 'i03'", "town = 't1' AND age > 40"):
        assert learnt.count(exact) == table.count(exact)
    asked = "SELECT AVG(age), MIN(age) FROM t WHERE ill = 'i03'"
    assert learnt.query(asked).answers == release.query(asked).answers


def test_several_sensitive_columns_are_learnt_one_by_one() -> None:
    random = np.random.default_rng(0)
    age = random.integers(20, 60, 3_000)
    columns = {"age": age, "s": age // 5 + random.integers(0, 3, 3_000), "u": age // 5}
    table = sf.read(pa.table(columns), sf.Schema(quasi=["age"], sensitive=["s", "u"]))
    release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(2), seed=1)
    learnt, question = sf.sharpen(release), "age < 30 AND {} <= 5"
    for name in ("s", "u"):
        truth = table.count(question.format(name)).estimate
        near, far = (one.count(question.format(name)).estimate for one in (learnt, release))
        assert abs(near - truth) < abs(far - truth)
    both = "age < 30 AND s <= 5 AND u <= 5"
    assert learnt.count(both) == release.count(both)


def test_releases_without_groups_of_exact_rows_are_refused() -> None:
    boxes = sf.publish(people(), sf.Mondrian(), sf.LDiversity(2))
    with pytest.raises(
        sf.errors.ParameterError, match="generalized release has no groups of exact"
    ):
        sf.sharpen(boxes)
    with pytest.raises(sf.errors.ParameterError, match="must be a release"):
        sf.sharpen(people())  # type: ignore[arg-type]
