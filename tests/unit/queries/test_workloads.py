import math
from pathlib import Path

import pytest

from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.queries.count import CountQuery
from sfumato.queries.workloads import anatomy_workload, read_workload, write_workload
from tests.support.tables import microdata

SIZES = {"a": 40, "b": 2, "c": 17, "d": 25}


def table(sensitive: str | tuple[str, ...] = "d") -> Microdata:
    rows = {name: [i % size for i in range(200)] for name, size in SIZES.items()}
    rows["c"] = [None if value == 0 else value for value in rows["c"]]  # type: ignore[misc]
    named = (sensitive,) if isinstance(sensitive, str) else sensitive
    return microdata(rows, sensitive=named)


@pytest.mark.parametrize(("qd", "s"), [(1, 0.05), (2, 0.01), (3, 0.1), (3, 1.0)])
def test_queries_have_the_shape_of_equation_14(qd: int, s: float) -> None:
    queries = anatomy_workload(table(), queries=200, dimensionality=qd, selectivity=s, seed=1)
    assert len(queries) == 200
    for query in queries:
        assert len(query.conditions) == qd + 1
        assert "d" in query.conditions
        for name, wanted in query.conditions.items():
            assert len(wanted) == math.ceil(SIZES[name] * s ** (1 / (qd + 1)))


def test_attributes_and_values_are_all_chosen_some_time() -> None:
    queries = anatomy_workload(table(), queries=300, dimensionality=1, seed=2)
    chosen = [next(iter(set(query.conditions) - {"d"})) for query in queries]
    assert {name: chosen.count(name) > 60 for name in "abc"} == dict.fromkeys("abc", True)
    missing = [None in query.conditions["c"] for query in queries if "c" in query.conditions]
    assert any(missing)
    assert not all(missing)


def test_a_whole_root_is_not_rounded_up() -> None:
    # 0.001 ** (1 / 3) is 0.10000000000000002 in floating point
    rows = {"a": list(range(50)), "b": list(range(50)), "d": list(range(50))}
    query = anatomy_workload(
        microdata(rows, sensitive=["d"]), queries=1, dimensionality=2, selectivity=0.001, seed=0
    )[0]
    assert {len(wanted) for wanted in query.conditions.values()} == {5}


def test_the_seed_decides() -> None:
    once, again, other = (
        anatomy_workload(table(), queries=5, dimensionality=2, seed=seed) for seed in (3, 3, 4)
    )
    assert once == again
    assert once != other


def test_files_give_the_queries_back(tmp_path: Path) -> None:
    queries = anatomy_workload(table(), queries=20, dimensionality=3, seed=5)
    path = write_workload(queries, tmp_path / "w.jsonl")
    assert read_workload(path) == queries
    assert len(path.read_text(encoding="utf-8").splitlines()) == 20


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text('{"a": [1]}\n\nnonsense\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 3"):
        read_workload(path)
    with pytest.raises(DataError, match="no workload file"):
        read_workload(tmp_path / "other")
    path.write_text('{"a": [1]}\n\n', encoding="utf-8")
    assert read_workload(path) == (CountQuery({"a": [1]}),)


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"dimensionality": 0}, "dimensionality"),
        ({"dimensionality": 4}, "dimensionality"),
        ({"dimensionality": 1, "selectivity": 0.0}, "selectivity"),
        ({"dimensionality": 1, "selectivity": 1.1}, "selectivity"),
        ({"dimensionality": 1, "queries": -1}, "queries"),
        ({"dimensionality": 1, "sensitive": "a"}, "sensitive"),
    ],
)
def test_bad_parameters_are_named(wrong: dict[str, float], parameter: str) -> None:
    with pytest.raises(ParameterError) as raised:
        anatomy_workload(table(), **wrong)  # type: ignore[arg-type]
    assert raised.value.parameter == parameter


def test_the_sensitive_attribute_must_be_clear() -> None:
    with pytest.raises(SchemaError, match="sensitive"):
        anatomy_workload(table(()), dimensionality=1)
    two = table(("d", "c"))
    with pytest.raises(ParameterError, match="name one of d, c"):
        anatomy_workload(two, dimensionality=1)
    query = anatomy_workload(two, queries=1, dimensionality=1, sensitive="c")[0]
    assert "c" in query.conditions
