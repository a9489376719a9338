"""Parts of figures: 10a, 10b and 10c are the parts of 10."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato_experiments.paper import Paper


def chosen(paper: Paper, numbers: Sequence[str]) -> tuple[str, ...]:
    """The figures asked for, once each, a number standing for its parts; all when none is named."""
    found = [one for number in numbers for one in _parts(paper, number)]
    return tuple(dict.fromkeys(found)) or tuple(paper.figures)


def _parts(paper: Paper, number: str) -> list[str]:
    parts = [one for one in paper.figures if one[:-1] == number and one[-1].isalpha()]
    if number not in paper.figures and parts:
        return parts
    paper.run(number)  # an unknown one is an error before anything runs
    return [number]
