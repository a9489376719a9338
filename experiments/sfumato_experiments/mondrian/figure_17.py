"""Figure 17: errors of COUNT queries with a predicate on one attribute.

For every value, "X = value" and "Y = value" are asked of both releases, which assume that rows are
spread evenly over their box, and of the table itself. The paper measures one table, on which its
grid favours Y. Here errors are means over several tables, on which a grid favours X as often as Y,
so what matters is how far apart the two are on the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato_experiments.figure import Claim, Curve, Figure, Series
from sfumato_experiments.mondrian import two_attributes as t
from sfumato_experiments.mondrian.comparison import SINGLE, STRICT
from sfumato_experiments.paper import Options

_SHORT = {SINGLE: "single", STRICT: "multi"}
_AXES = {"X": t.X, "Y": t.Y}
Floats: TypeAlias = NDArray[np.float64]
Errors: TypeAlias = dict[str, Floats]  # by method: table, k, attribute, query


def run(options: Options) -> Figure:
    """Ask both releases of every table about every value."""
    tables = t.tables(options)
    errors = {method: np.array([_errors(method, table) for table in tables]) for method in _SHORT}
    return Figure(
        number="17",
        title="Errors of count queries with a predicate on one attribute",
        x_label="k",
        y_label="absolute error (rows)",
        series={**_means(errors), **_deviations(errors), **_apart(errors)},
        claims=(_SMALLER, _CONSISTENT, _FAIR),
        notes=(
            t.described(options),
            f"queries per attribute: {t.CARDINALITY}; mean and standard deviation over them, and "
            "how far the means for X and Y are apart on the same table",
        ),
        panels={f"predicate on {axis}": _panel(axis) for axis in _AXES},
    )


def _errors(method: str, table: sf.Microdata) -> list[list[Floats]]:
    """For each k and attribute, how far each query's estimate is off."""
    workloads = [
        [sf.Query({column: sf.one_of([value])}) for value in range(t.CARDINALITY)]
        for column in _AXES.values()
    ]
    truths = [table.counts(queries).estimate for queries in workloads]
    return [
        [
            np.abs(release.counts(queries).estimate - truth)
            for queries, truth in zip(workloads, truths, strict=True)
        ]
        for release in t.releases(method, table)
    ]


def _means(errors: Errors) -> dict[str, Curve]:
    return {
        _mean(axis, method): t.over_seeds(errors[method][:, :, place].mean(axis=2).tolist())
        for method, (place, axis) in product(_SHORT, enumerate(_AXES))
    }


def _deviations(errors: Errors) -> dict[str, Curve]:
    return {
        _deviation(axis, method): _plain(errors[method][:, :, place].std(axis=2, ddof=1))
        for method, (place, axis) in product(_SHORT, enumerate(_AXES))
    }


def _apart(errors: Errors) -> dict[str, Curve]:
    return {
        _difference(method): _plain(np.abs(np.diff(errors[method].mean(axis=3), axis=2))[:, :, 0])
        for method in _SHORT
    }


def _plain(runs: Floats) -> Curve:
    """A curve without the spread over seeds: these figures are spreads themselves."""
    return tuple(point._replace(spread=None) for point in t.over_seeds(runs.tolist()))


def _panel(axis: str) -> dict[str, str]:
    return {
        **{f"{_SHORT[method]}: mean": _mean(axis, method) for method in _SHORT},
        **{f"{_SHORT[method]}: std. dev.": _deviation(axis, method) for method in _SHORT},
    }


def _mean(axis: str, method: str) -> str:
    return f"{axis}, {_SHORT[method]}: mean"


def _deviation(axis: str, method: str) -> str:
    return f"{axis}, {_SHORT[method]}: std. dev."


def _difference(method: str) -> str:
    return f"X and Y apart, {_SHORT[method]}"


def _both(at: Series, name: Callable[[str, str], str], method: str) -> list[float]:
    """The curves of X and Y, added up."""
    x, y = (at[name(axis, method)] for axis in _AXES)
    return [one.y + other.y for one, other in zip(x, y, strict=True)]


def _less(at: Series, name: Callable[[str, str], str]) -> list[bool]:
    """For each k, whether the multidimensional partitioning has less of it than the grid."""
    multi, single = (_both(at, name, method) for method in (STRICT, SINGLE))
    return [one < other for one, other in zip(multi, single, strict=True)]


_SMALLER = Claim(
    "for small k the errors are smaller with the multidimensional partitioning, X and Y together",
    "Figure 17",
    tuple(_mean(axis, method) for axis in _AXES for method in _SHORT),
    lambda at: _less(at, _mean)[0],
)
_CONSISTENT = Claim(
    "they are more consistent across queries: a smaller standard deviation for every k",
    "section 6.3",
    tuple(_deviation(axis, method) for axis in _AXES for method in _SHORT),
    lambda at: all(_less(at, _deviation)),
)
_FAIR = Claim(
    "a grid answers one attribute better than the other; X and Y are closer together without one",
    "section 6.3",
    tuple(map(_difference, _SHORT)),
    lambda at: all(
        multi.y < single.y
        for multi, single in zip(at[_difference(STRICT)], at[_difference(SINGLE)], strict=True)
    ),
)
