"""A paper and its figures, and how they are found.

A paper is a folder beside this file whose ``__init__`` defines ``PAPER``. Nothing else has to know
about it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from sfumato.errors import ParameterError
from sfumato_experiments.figure import Figure


def _silent(share: float) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """How a figure is run. ``quick`` takes fewer rows and points: trends, not numbers to quote.

    ``queries`` is the size of a workload where a figure asks queries; None leaves it to the figure,
    which takes as many as the paper if it is run in ``full``.
    """

    data: Path | None = None
    seeds: int = 5
    quick: bool = False
    queries: int | None = None
    full: bool = False
    progress: Callable[[float], None] = _silent

    def part(self, begin: float, end: float) -> Options:
        """The same options for a run that is only this part of the whole."""
        return replace(self, progress=lambda share: self.progress(begin + share * (end - begin)))


Run: TypeAlias = Callable[[Options], Figure]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's name on the command line, its title, and its figures by number."""

    name: str
    title: str
    figures: Mapping[str, Run]

    def run(self, number: str) -> Run:
        """The experiment behind a figure."""
        if number not in self.figures:
            raise ParameterError(
                f"no figure {number!r} of {self.name}; there are {', '.join(self.figures)}",
                parameter="figure",
            )
        return self.figures[number]


def papers() -> tuple[str, ...]:
    """The names of all papers, without importing any."""
    here = str(Path(__file__).parent)
    return tuple(sorted(found.name for found in pkgutil.iter_modules([here]) if found.ispkg))


def find_paper(name: str) -> Paper:
    """A paper by name."""
    if name not in papers():
        raise ParameterError(
            f"no paper {name!r}; there are {', '.join(papers())}", parameter="paper"
        )
    paper = import_module(f"sfumato_experiments.{name}").PAPER
    assert isinstance(paper, Paper)
    return paper
