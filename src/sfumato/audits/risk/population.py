"""The population behind a table: from a list of it, or from survey weights.

Chance of a person to be found in the population. With weights, the size F of a class of which f
people are in the table follows, given f, a negative binomial distribution with p = f / (sum of
their weights): Benedetti and Franconi, "Statistical and technological solutions for controlled data
dissemination" (NTTS 1998), the estimator of mu-Argus and sdcMicro. The mean of 1 / F is

    p * integral over [0, 1] of u^(f-1) / (p + (1 - p) u) du.

People of the population who are unlike all others: Pitman's sampling formula, fitted to the sizes
of the table's classes by maximum likelihood (Hoshino, "Applying Pitman's sampling formula to
microdata disclosure risk assessment", J. Official Statistics 17, 2001). With N people, their
expected number is Gamma(theta + 1) / Gamma(theta + alpha) * N^alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sfumato.audits.risk.results import Population
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.microdata import Microdata
from sfumato.engines.coded import codes_of
from sfumato.errors import DataError, ParameterError
from sfumato.io.tables import Source, read_table

PITMAN = "estimated from weights by Pitman's sampling formula"
WHOLE = "the table is the whole population"
LISTED = "counted in the list"
_EXACT_UP_TO = 40  # people in a class: above, the first terms of a series are exact enough
_STEPS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2
_MOST_THETA = 1e9


def listed_sizes(table: Microdata, classes: Counts, first: Codes, population: Source) -> Counts:
    """How many people of a list look like each class of a table; ``first`` is a row of each.

    At least as many as the table has of them, who are of the population whatever the list says.
    """
    if any(declared.bins is not None for declared in table.schema.declarations.values()):
        raise ParameterError(
            "a list cannot be compared with binned columns; leave the bins out of the schema",
            parameter="population",
        )
    names = table.schema.quasi
    known = read_table(population, columns=names, trim=True)
    columns = [_codes(table, known, name) for name in names]
    codes = np.stack(columns, axis=1, dtype=np.int32)
    matching = codes[(codes >= 0).all(axis=1)]
    own = np.stack([table.codes[name][first] for name in names], axis=1, dtype=np.int32)
    numbers, _, _ = number_rows(np.concatenate([own, matching]), table.quasi_sizes())
    # the classes differ from each other, so they come first and in their order
    counts = np.bincount(numbers[len(own) :], minlength=len(own))[: len(own)]
    return np.maximum(counts, classes).astype(np.int64)


def of_list(sizes: Counts, listed: int) -> Population:
    """The population that a list names."""
    return Population(float(listed), float(np.count_nonzero(sizes == 1)), LISTED)


def of_weights(sizes: Counts, total: float) -> Population:
    """The population that weights add up to, from the sizes of the table's classes."""
    people = int(sizes.sum())
    if total <= people:
        return Population(total, float(np.count_nonzero(sizes == 1)), WHOLE)
    return Population(total, pitman_uniques(sizes, total), PITMAN)


def pitman_uniques(sizes: Counts, population: float) -> float:
    """Expected number of people of a population who are unlike all others (Hoshino 2001)."""
    if len(sizes) == int(sizes.sum()):  # everybody differs: nothing can be fitted
        return population
    if not (sizes == 1).any():
        return 0.0
    alpha, theta = _fitted(sizes)
    logarithm = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    return min(population, math.exp(logarithm))


def mean_chances(people: Counts, weights: Floats) -> Floats:
    """The mean of 1 / F for classes with so many people, whose weights add up to so much."""
    p = np.minimum(people / np.maximum(weights, people), 1.0)
    chances = p / (people - (1 - p))
    small = people <= _EXACT_UP_TO
    nodes, shares = np.polynomial.legendre.leggauss(64)
    u, share = (nodes + 1) / 2, shares / 2
    for f in np.unique(people[small]).tolist():
        of = people == f
        chances[of] = _mean_chance(int(f), p[of], u, share)
    least: Floats = np.minimum(chances, 1.0)
    return least


def _mean_chance(f: int, p: Floats, u: Floats, share: Floats) -> Floats:
    rare = p <= 0.5
    found = np.empty(len(p))
    q = 1 - p[rare]
    integral = -np.log(p[rare]) / q
    for power in range(1, f):  # integrate u^power by that of the power before
        integral = (1 / power - p[rare] * integral) / q
    found[rare] = p[rare] * integral
    often = p[~rare][:, None]
    found[~rare] = (often * share * u ** (f - 1) / (often + (1 - often) * u)).sum(axis=1)
    return found


def weights_of(column: pa.ChunkedArray, name: str) -> Floats:
    """Survey weights: for how many people of the population each row stands."""
    if column.null_count:
        raise DataError(f"the weights in {name!r} have missing values", source=name)
    try:
        weights = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException:
        raise DataError(f"the weights in {name!r} are no numbers", source=name) from None
    if not np.isfinite(weights).all() or (weights <= 0).any():
        raise DataError(f"the weights in {name!r} must be above 0", source=name)
    found: Floats = weights
    return found


def _codes(table: Microdata, known: pa.Table, name: str) -> Codes:
    attribute, column = table.attributes[name], known.column(name)
    if column.type != attribute.values.type:
        try:
            column = column.cast(attribute.values.type)
        except pa.ArrowException:
            raise DataError(
                f"column {name!r} of the list holds {column.type}, the table's "
                f"{attribute.values.type}; make them alike",
                source=name,
            ) from None
    return codes_of(attribute, column)


def _fitted(sizes: Counts) -> tuple[float, float]:
    """The alpha and theta under which classes of these sizes are likeliest."""
    values, times = (part.astype(np.float64) for part in np.unique(sizes, return_counts=True))
    people, classes = float(sizes.sum()), len(sizes)

    def likelihood(alpha: float, theta: float) -> float:
        own: float = sum(
            count * (math.lgamma(value - alpha) - math.lgamma(1 - alpha))
            for value, count in zip(values.tolist(), times.tolist(), strict=True)
        )
        rising = (
            (classes - 1) * math.log(alpha)
            + math.lgamma(theta / alpha + classes)
            - math.lgamma(theta / alpha + 1)
        )
        return own + rising - math.lgamma(theta + people) + math.lgamma(theta + 1)

    def best_theta(alpha: float) -> float:
        place = _highest(lambda x: likelihood(alpha, math.exp(x)), -10.0, math.log(_MOST_THETA))
        return math.exp(place)

    alpha = _highest(lambda a: likelihood(a, best_theta(a)), 1e-6, 1 - 1e-6)
    return alpha, best_theta(alpha)


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one peak is highest (golden section)."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    of_a, of_b = function(a), function(b)
    for _ in range(_STEPS):
        if of_a < of_b:
            low, a, of_a = a, b, of_b
            b = low + _GOLDEN * (high - low)
            of_b = function(b)
        else:
            high, b, of_b = b, a, of_a
            a = high - _GOLDEN * (high - low)
            of_a = function(a)
    return (low + high) / 2
