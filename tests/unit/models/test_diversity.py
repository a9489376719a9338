import json
import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.attribute import encode
from sfumato.core.histograms import Histograms
from sfumato.errors import ParameterError
from sfumato.models.base import BuiltIn
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
    entropies,
)
from tests.support.tables import attribute, histograms


def test_entropy_example_of_the_slides() -> None:
    groups = histograms(attribute(2), [[2, 1], [3, 1]])
    assert [round(math.exp(entropy), 1) for entropy in entropies(groups)] == [1.9, 1.8]
    assert EntropyLDiversity(1.75).passes(groups).tolist() == [True, True]
    assert EntropyLDiversity(1.8).passes(groups).tolist() == [True, False]
    assert EntropyLDiversity(1.9).passes(groups).tolist() == [False, False]


@pytest.mark.parametrize(
    ("model", "safe", "unsafe"),
    [
        (LDiversity(4), [1, 1, 1, 1], [2, 1, 1, 1]),
        (LDiversity(2.5), [2, 2, 1, 0], [3, 2, 2, 0]),
        (DistinctLDiversity(3), [97, 1, 1, 0], [50, 50, 0, 0]),
        (EntropyLDiversity(3), [5, 5, 5, 0], [6, 5, 4, 0]),
        (RecursiveLDiversity(2.0, 2), [5, 2, 1, 0], [6, 2, 1, 0]),
        (RecursiveLDiversity(2.0, 3), [3, 3, 2, 0], [4, 3, 2, 0]),
    ],
)
def test_the_limit_is_where_the_definition_puts_it(
    model: BuiltIn, safe: list[int], unsafe: list[int]
) -> None:
    assert model.passes(histograms(attribute(4), [safe, unsafe])).tolist() == [True, False]


@pytest.mark.parametrize("l", range(2, 60))
def test_l_equal_shares_reach_l(l: int) -> None:
    groups = histograms(attribute(l), [[7] * l])
    for model in (LDiversity(l), DistinctLDiversity(l), EntropyLDiversity(l)):
        assert model.passes(groups).tolist() == [True]


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: LDiversity(0.5), "l"),
        (lambda: LDiversity(math.nan), "l"),
        (lambda: LDiversity(True), "l"),
        (lambda: LDiversity(math.inf), "l"),
        (lambda: LDiversity(10**400), "l"),
        (lambda: LDiversity(cast(Any, "3")), "l"),
        (lambda: DistinctLDiversity(0), "l"),
        (lambda: DistinctLDiversity(cast(Any, 2.5)), "l"),
        (lambda: DistinctLDiversity(True), "l"),
        (lambda: EntropyLDiversity(0.99), "l"),
        (lambda: EntropyLDiversity(math.nan), "l"),
        (lambda: EntropyLDiversity(math.inf), "l"),
        (lambda: RecursiveLDiversity(0, 2), "c"),
        (lambda: RecursiveLDiversity(math.inf, 2), "c"),
        (lambda: RecursiveLDiversity(True, 2), "c"),
        (lambda: RecursiveLDiversity(-1.0, 2), "c"),
        (lambda: RecursiveLDiversity(math.nan, 2), "c"),
        (lambda: RecursiveLDiversity(1.0, 0), "l"),
        (lambda: RecursiveLDiversity(1.0, cast(Any, 1.5)), "l"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make: type[BuiltIn], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.parameter == parameter


def test_numbers_of_numpy_become_plain_numbers() -> None:
    for model, plain in (
        (DistinctLDiversity(cast(Any, np.int32(3))), DistinctLDiversity(3)),
        (LDiversity(cast(Any, np.int64(3))), LDiversity(3)),
        (LDiversity(cast(Any, np.float32(2.5))), LDiversity(2.5)),
        (EntropyLDiversity(np.float64(2.5)), EntropyLDiversity(2.5)),
        (RecursiveLDiversity(cast(Any, np.float32(2)), cast(Any, np.int8(2))),
         RecursiveLDiversity(2.0, 2)),
    ):  # fmt: skip
        assert model == plain
        assert json.dumps(model.to_dict()) == json.dumps(plain.to_dict())


@pytest.mark.parametrize(
    "model", [LDiversity(3), EntropyLDiversity(3), RecursiveLDiversity(1.0, 2)]
)
def test_a_refusal_calls_a_missing_value_missing(model: BuiltIn) -> None:
    domain, codes = encode("disease", pa.chunked_array([["flu", None, None, None]]))
    whole = Histograms.of_groups(domain, codes, np.zeros(4, np.int32), 1)
    refusal = model.refusal(whole)
    assert "(missing)" in str(refusal)
    assert "None" not in str(refusal)
    assert refusal.value is None
