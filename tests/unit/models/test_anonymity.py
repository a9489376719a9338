import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.models.anonymity import KAnonymity
from tests.support.tables import attribute, histograms


def test_a_group_needs_k_rows() -> None:
    groups = histograms(attribute(2), [[1, 1], [3, 0], [2, 2]])
    assert KAnonymity(3).passes(groups).tolist() == [False, True, True]


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "5", None, np.int64(0), np.True_])
def test_a_k_that_means_nothing_is_refused(k: int) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number") as caught:
        KAnonymity(k)
    assert caught.value.parameter == "k"


@pytest.mark.parametrize("k", [np.int64(5), np.uint8(5), np.array(5)])
def test_whole_numbers_of_numpy_are_whole_numbers(k: int) -> None:
    model = KAnonymity(k)
    assert type(model.k) is int
    assert model == KAnonymity(5)
