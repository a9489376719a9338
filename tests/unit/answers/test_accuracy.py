import math

import pytest

from sfumato.answers.accuracy import accuracy
from sfumato.errors import ParameterError


def test_errors_are_relative_to_the_truth() -> None:
    found = accuracy([10, 4, 2], [9, 6, 2])
    assert found.errors.tolist() == [0.1, 0.5, 0.0]
    assert found.average == pytest.approx(0.2)
    assert found.median == 0.1
    assert found.quantiles((0.0, 1.0)) == {0.0: 0.0, 1.0: 0.5}
    assert (found.queries, found.zero_truth) == (3, 0)


def test_true_zeros_are_left_out_and_counted() -> None:
    found = accuracy([0, 5, 0], [3, 10, 0])
    assert (found.average, found.queries, found.zero_truth) == (1.0, 1, 2)


def test_nothing_to_average_is_not_a_number() -> None:
    found = accuracy([0], [1])
    assert math.isnan(found.average)
    assert math.isnan(found.median)


def test_every_query_has_both_answers() -> None:
    with pytest.raises(ParameterError, match="2 true answers and 1 estimates"):
        accuracy([1, 2], [1])


def test_an_error_is_never_negative() -> None:
    assert accuracy([-10.0], [-5.0]).errors.tolist() == [0.5]
