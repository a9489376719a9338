"""What kernels ask of a group, and what they know before they look at its histogram."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.core.arrays import Floats
from sfumato.models._rules import SIZE
from sfumato.models.bound import CompiledRules


class Goal(NamedTuple):
    """``rules`` and ``whole`` are those of models._rules; a group of fewer than ``least`` rows
    passes none, and without ``sensitive`` rules its size is all that counts.
    """

    rules: Floats
    whole: Floats
    least: int
    sensitive: bool


def goal_of(rules: CompiledRules, n_rows: int) -> Goal:
    """The goal of compiled requirements in a table of so many rows."""
    sensitive = bool((rules.rules[:, 0] != SIZE).any())
    return Goal(rules.rules, rules.whole_counts / n_rows, rules.least, sensitive)
