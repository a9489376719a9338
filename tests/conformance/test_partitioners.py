"""What every algorithm promises under every model; both are found, not listed.

A new algorithm or model takes part by existing. A model must come with settings
(tests/support/models.py) and with its definition in plain Python (tests/support/oracles.py); an
algorithm that cannot work under some model says so in REFUSES.
"""

import itertools
from typing import Any

import numpy as np
import pytest

from sfumato.algorithms.base import Partitioner, describe
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.registry import MODELS
from sfumato.queries.workloads import range_workload
from tests.support.algorithms import identify, partitioner_classes, refined, variants
from tests.support.models import SETTINGS, needs_of
from tests.support.oracles import ORACLES, passes_naively
from tests.support.tables import groups_of, microdata

ALGORITHMS = [variant for algorithm in partitioner_classes() for variant in variants(algorithm)]
ALGORITHMS += refined()

# Algorithm name -> names of the models under which it refuses to work, with a ParameterError.
REFUSES: dict[str, set[str]] = {}


def census() -> Microdata:
    """An ordinary table: ties, gaps, an order, a set, two sensitive columns."""
    rng = np.random.default_rng(11)
    n = 70
    ages = rng.integers(20, 60, n).tolist()
    return microdata(
        {
            "age": [None if age == 33 else age for age in ages],
            "job": rng.choice(["clerk", "cook", "judge", "nurse"], n),
            "grade": rng.choice(["low", "middle", "high"], n),
            "disease": rng.choice(["flu", "cold", "gout", "mumps", "rash"], n),
            "income": rng.integers(1, 6, n),
        },
        sensitive=["disease", "income"],
        orders={"grade": ["low", "middle", "high"]},
    )


def small(quasi: list[Any], sensitive: list[Any]) -> Microdata:
    return microdata({"q": quasi, "r": quasi[::-1], "s": sensitive}, sensitive=["s"])


TABLES = {
    "census": census(),
    "one row": small([1], ["a"]),
    "identical rows": small(["x"] * 12, list("abcd") * 3),
    "missing quasi-identifier": microdata(
        {"gone": [None] * 12, "q": [1, 2, 3] * 4, "s": list("abcd") * 3}, sensitive=["s"]
    ),
    "missing sensitive value": small([1, 2, 3, 4] * 2, [None] * 8),
    "one frequent value": small([1, 2, 2, 3, 4, 5, 6, 7, 8], list("aaaaaaabc")),
    "all different": small(list(range(20)), list("abcdefghijklmnopqrst")),
}

pairs = pytest.mark.parametrize(
    ("algorithm", "model"), list(itertools.product(ALGORITHMS, SETTINGS)), ids=identify
)
tables = pytest.mark.parametrize("name", TABLES)


def test_there_is_something_to_test() -> None:
    assert "mondrian" in {algorithm.name for algorithm in ALGORITHMS}
    assert len({type(algorithm) for algorithm in ALGORITHMS}) == len(partitioner_classes())


def test_every_model_has_settings_and_a_definition() -> None:
    assert {model.name for model in SETTINGS} == set(MODELS)
    assert set(ORACLES) == set(MODELS)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=identify)
def test_an_algorithm_is_a_frozen_value(algorithm: Partitioner) -> None:
    options = describe(algorithm)
    assert options.pop("name") == algorithm.name
    assert type(algorithm)(**options) == algorithm
    assert hash(type(algorithm)(**options)) == hash(algorithm)


def divided(algorithm: Partitioner, model: Any, table: Microdata, seed: int = 5) -> Partition:
    return algorithm.partition(table, needs_of(model, table), Randomness(seed))


def refused(algorithm: Partitioner, model: BuiltIn) -> bool:
    """Whether the pair is known not to work; if so, check that it is refused aloud."""
    if model.name not in REFUSES.get(algorithm.name, set()):
        return False
    with pytest.raises(ParameterError):
        divided(algorithm, model, TABLES["census"])
    return True


@tables
@pairs
def test_groups_are_safe_or_nothing_is_returned(
    algorithm: Partitioner, model: BuiltIn, name: str
) -> None:
    if refused(algorithm, model):
        return
    table = TABLES[name]
    combined = KAnonymity(2) & model
    needs = needs_of(combined, table)
    if not passes_naively(needs, table, range(table.n_rows)):
        with pytest.raises(Infeasible) as caught:
            divided(algorithm, combined, table)
        assert caught.value.model in combined.models
        return
    found = divided(algorithm, combined, table)
    groups = groups_of(found.groups)
    assert found.n_rows == table.n_rows
    assert sorted(itertools.chain(*groups)) == list(range(table.n_rows))
    assert len(groups) == found.n_groups
    assert sorted(map(len, groups)) == sorted(found.sizes.tolist())
    assert all(passes_naively(needs, table, rows) for rows in groups)


@tables
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("model", SETTINGS, ids=identify)
def test_a_workload_breaks_no_promise(model: BuiltIn, relaxed: bool, name: str) -> None:
    """Queries are about a table's own columns, so this option cannot be found by looking."""
    workload = range_workload(TABLES[name], queries=9, share=0.2, seed=4)
    algorithm = Mondrian(relaxed=relaxed, workload=workload)
    test_groups_are_safe_or_nothing_is_returned(algorithm, model, name)


@tables
@pytest.mark.parametrize("model", SETTINGS, ids=identify)
def test_a_target_breaks_no_promise(model: BuiltIn, name: str) -> None:
    """A target is a column of the table, so this option cannot be found by looking either."""
    if TABLES[name].schema.sensitive:
        algorithm = Mondrian(target=TABLES[name].schema.sensitive[0])
        test_groups_are_safe_or_nothing_is_returned(algorithm, model, name)


@pairs
def test_the_seed_decides_and_the_input_stays(algorithm: Partitioner, model: BuiltIn) -> None:
    if refused(algorithm, model):
        return
    table = TABLES["census"]
    before = {name: codes.copy() for name, codes in table.codes.items()}
    one, again = (divided(algorithm, KAnonymity(3) & model, table) for _ in range(2))
    assert one.groups.tolist() == again.groups.tolist()
    assert set(before) == set(table.codes)
    assert all(np.array_equal(table.codes[name], codes) for name, codes in before.items())


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=identify)
@tables
def test_more_than_there_is_is_infeasible(algorithm: Partitioner, name: str) -> None:
    table = TABLES[name]
    with pytest.raises(Infeasible) as caught:
        divided(algorithm, KAnonymity(table.n_rows + 1), table)
    assert caught.value.largest == table.n_rows


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=identify)
def test_progress_stays_between_nothing_and_everything(algorithm: Partitioner) -> None:
    table = TABLES["census"]
    heard: list[float] = []
    algorithm.partition(table, needs_of(KAnonymity(2), table), Randomness(1), heard.append)
    assert all(0 <= share <= 1 for share in heard)
    assert heard == sorted(heard)
