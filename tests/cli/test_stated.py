"""Promises and masks in words, as commands print them."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.cli.stated import stated_lines
from sfumato.forms.manifest import Manifest

DAY = 86_400_000
TYPES = (("age", "int64"), ("born", "date32[day]"), ("at", "time64[us]"))


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        ({"model": "k-anonymity", "k": 5}, "promised: k-anonymity (k = 5)"),
        (
            {"model": "microaggregation", "on": "age", "spread": {"age": 25.0}, "step": 1},
            "stated: age shows each group's mean, rows are off by 5 (standard deviation)",
        ),
        (
            {"model": "additive noise", "on": "born", "spread": {"born": 9e14}, "step": DAY},
            "stated: born has noise added, 0.347 days (standard deviation)",
        ),
        (
            {"model": "additive noise", "on": "at", "spread": {"at": 4.0}, "step": 0},
            "stated: at has noise added",
        ),
        (
            {"model": "swapping", "on": "job", "reach": 0.1, "inside": ["sex", "age"]},
            "stated: job is exchanged between rows that are at most 0.1 of all ranks apart and are "
            "equal on sex and age",
        ),
        (
            {"model": "likely intervals", "on": None, "stretch": [18.0, 8.7, 7.1]},
            "stated: likely intervals are longer than chance alone makes them: 18 times for one "
            "masked column, 8.7 times for two and 7.1 times for more",
        ),
    ],
)
def test_lines_are_sentences(promise: dict[str, Any], said: str) -> None:
    manifest = Manifest(kind="masked", promise=(promise,), algorithm={}, types=TYPES)
    assert list(stated_lines(manifest)) == [said]
