"""Figure 13: C_DM against the number of attributes on skewed data, sigma = .2, k = 10."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sfumato_experiments.figure import Claim, Figure, falls
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options

_K = 10
_ATTRIBUTES = (2, 3, 4, 5, 6, 7, 8)
_QUICK_ATTRIBUTES = (2, 3, 4, 5)


def run(options: Options) -> Figure:
    """Measure every method as the quasi-identifier grows."""
    settings = [
        c.Setting(attributes, _K, c.skewed_samples(options, attributes=attributes))
        for attributes in (_QUICK_ATTRIBUTES if options.quick else _ATTRIBUTES)
    ]
    distinct = _distinct(settings)
    listed = ", ".join(f"{at.x:g}: {count:,}" for at, count in zip(settings, distinct, strict=True))
    found = c.compare(settings, options)
    return Figure(
        number="13",
        title=f"Skewed attributes (k = {_K}, σ = {c.SIGMA:g})",
        x_label="number of attributes",
        y_label=c.Y_LABEL,
        series=found.series,
        claims=(_FALLS, *map(_rival_falls, c.RIVALS), _sparse(distinct), *c.THEORY),
        notes=(
            f"{c.described(options)}; σ in shares of the domain, μ = {c.MU:g}",
            f"different rows of seed 0, by number of attributes: {listed}",
            found.note,
        ),
        references=frozenset({c.FLOOR}),
        y_scale="log",
    )


def _distinct(settings: Sequence[c.Setting]) -> list[int]:
    """How many different rows the first table of each setting has."""
    return [len(np.unique(at.samples[0].ordered.quasi_codes(), axis=0)) for at in settings]


def _rival_falls(rival: str) -> Claim:
    return Claim(
        f"the penalty decreases with the number of attributes: {rival}",
        "section 6.2",
        (rival,),
        lambda at: falls(at[rival]),
    )


def _sparse(distinct: list[int]) -> Claim:
    return Claim(
        "fewer duplicate rows as the number of attributes increases, which is why",
        "section 6.2",
        (),
        lambda _: all(after > before for before, after in pairwise(distinct)),
    )


_FALLS = Claim(
    f"the penalty decreases with the number of attributes: {c.STRICT}",
    "section 6.2",
    (c.STRICT,),
    lambda at: falls(at[c.STRICT]),
)
