from itertools import combinations

import numpy as np
import pytest

import sfumato as sf
from sfumato.answers.lines import BY_ROWS, Lines
from sfumato.asking.ask import answerer
from sfumato.core.arrays import Flags, Floats
from sfumato.learning.naive_bayes import WEIGHT, NaiveBayes, expected
from sfumato.learning.tree import LEAST, Tree, best_cut, information
from tests.support.tables import microdata


def table(seed: int, rows: int = 400) -> sf.Microdata:
    """A value that goes with one number and one word, and a column of chance."""
    generator = np.random.default_rng(seed)
    age, city = generator.integers(20, 40, rows), generator.integers(0, 4, rows)
    sick = generator.random(rows) < np.where((age > 30) ^ (city == 2), 0.85, 0.1)
    columns = {
        "age": age.tolist(),
        "city": [f"c{one}" for one in city],
        "noise": generator.integers(0, 9, rows).tolist(),
        "s": np.where(sick, "ill", "well").tolist(),
    }
    return microdata(columns, sensitive=["s"])


def lines_of(data: sf.Microdata) -> Lines:
    asked = answerer(data)
    return BY_ROWS.lines_of(asked, [BY_ROWS.axis_of(asked, one) for one in data.schema.quasi], "s")


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_of_an_ordered_axis_is_the_best_of_all(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 30, (7, 3)).astype(np.float64)
    cut = best_cut([counts], [True])
    assert cut is not None
    gains = [gain_of(counts, np.arange(7) <= last) for last in range(6)]
    assert cut.gain == pytest.approx(max(gains))
    assert gain_of(counts, cut.left) == pytest.approx(cut.gain)


@pytest.mark.parametrize("seed", range(5))
def test_no_set_of_unordered_bins_is_better_where_values_are_two(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(5, 30, (6, 2)).astype(np.float64)
    cut = best_cut([counts], [False])
    assert cut is not None
    sets = [np.isin(np.arange(6), some) for n in (1, 2, 3) for some in combinations(range(6), n)]
    assert cut.gain == pytest.approx(max(gain_of(counts, one) for one in sets))


def gain_of(counts: Floats, left: Flags) -> float:
    """By definition."""
    halves = [counts[left].sum(axis=0), counts[~left].sum(axis=0)]
    if min(half.sum() for half in halves) < LEAST:
        return -1.0
    whole = sum(plainly(half) for half in halves)
    return plainly(counts.sum(axis=0)) - whole


def plainly(values: Floats) -> float:
    shares = values[values > 0] / values.sum()
    return float(-values.sum() * (shares * np.log(shares)).sum())


def test_information_is_people_times_entropy() -> None:
    counts = np.array([[3.0, 0.0, 1.0], [2.0, 2.0, 2.0]])
    assert information(counts) == pytest.approx([plainly(line) for line in counts])


def test_a_tree_finds_what_two_columns_say_together() -> None:
    data = table(1, 2000)
    tree = Tree.learn(lines_of(data))
    assert {*tree.axes[tree.axes >= 0].tolist()} == {0, 1}
    learnt = sf.train(data, target="s")
    assert learnt.accuracy(table(2, 2000)) > 0.82
    assert sf.train(data, target="s", features=["noise"]).accuracy(data) < 0.6


def test_chance_alone_grows_no_tree() -> None:
    data = table(3, 2000)
    shuffled = np.random.default_rng(0).permutation(data.codes["s"])
    codes = {**data.codes, "s": shuffled}
    unrelated = sf.Microdata(data.schema, data.n_rows, data.attributes, codes, data.insensitive)
    assert Tree.learn(lines_of(unrelated)).leaves == 1


def test_naive_bayes_is_what_the_counts_say() -> None:
    data = table(4)
    lines = lines_of(data)
    model = NaiveBayes.learn(lines)
    for j, name in enumerate(data.schema.quasi):
        bins = lines.axes[j].of_codes(data.attributes[name])[data.codes[name]]
        counts = np.zeros((len(lines.axes[j].bins), 2))
        np.add.at(counts, (bins, data.codes["s"]), 1)
        assert expected(lines, j) == pytest.approx(counts)
        share = (counts.sum(axis=1, keepdims=True) + 1) / (400 + len(counts))
        chances = (counts + WEIGHT * share) / (counts.sum(axis=0) + WEIGHT)
        assert model.tables[j] == pytest.approx(np.log(chances))
    unknown = np.full((1, 3), -1, np.int32)
    assert model.log_chances(unknown)[0] == pytest.approx(model.prior)
