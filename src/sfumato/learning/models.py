"""What can be learnt, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from sfumato.answers.lines import Lines
from sfumato.core.arrays import Codes, Floats
from sfumato.learning.naive_bayes import NaiveBayes
from sfumato.learning.tree import Tree

Name: TypeAlias = Literal["naive-bayes", "tree"]


class Model(Protocol):
    """What was learnt."""

    def log_chances(self, bins: Codes) -> Floats:
        """How likely each value is for people in these bins: logarithms, up to a constant."""
        ...


LEARNERS: Mapping[str, Callable[[Lines], Model]] = {
    "naive-bayes": NaiveBayes.learn,
    "tree": Tree.learn,
}
