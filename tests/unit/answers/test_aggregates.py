"""Every function of the table has a bound; nothing else does."""

from sfumato.answers.aggregates import BOUNDS
from sfumato.core.aggregates import AGGREGATES


def test_every_function_but_count_has_a_bound() -> None:
    assert list(BOUNDS) == [name for name in AGGREGATES if name != "count"]
