"""Answers from a perturbed table.

Agrawal, Srikant, Thomas: "Privacy preserving OLAP", SIGMOD 2005, which "Dynamic anonymization"
follows in its experiments. Of N rows that satisfy the conditions on exact columns, ``obs`` show one
of the b wanted values of a domain A. Noise alone makes a row do so with probability (1 - p) b/|A|:

    estimate = (obs - N (1 - p) b/|A|) / p

is right on average over all perturbations. It is a sum over rows: with a = (1 - p) b/|A|, a row
weighs (1 - a)/p if it shows a wanted value and -a/p if not. With conditions on several perturbed
attributes, whose noise is independent, a row weighs the product. A weight W is 1 or 0 on average,
as the row truly satisfies the conditions or not; so the sum of W (W - 1), no term of which is
negative, estimates the variance, again without bias. The likely interval is the normal one around
the estimate. It is approximate: fair for dozens of rows, not for a handful.

Agrawal, Srikant and Thomas have another one, for any number of rows: from n >= 4 log(2/delta) /
(p eps)^2 rows on, a share is off by more than eps with a chance of delta at most. So the count is
within N eps = 2 sqrt(N log(2/delta)) / p of the estimate, with probability 1 - delta at least. 1/p
is how far the two weights of a row lie apart; with several perturbed attributes that is the spread
of their products. "Dynamic anonymization" compares itself with these intervals.

Rows that show the same perturbed values have the same weight. They are a group, and the weight
takes the place of the share in its scope. Hard bounds know nothing of chance: any row may have any
value of the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import log, prod, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.answers.encoded import encoded_columns
from sfumato.answers.group_bounds import Found, Scope
from sfumato.answers.kernels import tally
from sfumato.answers.packing import Domain, Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.value_bounds import Choices
from sfumato.core._kernels import number_rows
from sfumato.core.aggregates import AGGREGATES
from sfumato.core.answer import Likely
from sfumato.core.arrays import Counts, Flags, Floats, Ints
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.core.exact import as_doubles
from sfumato.errors import DataError
from sfumato.forms.catalogs import catalog_of
from sfumato.forms.perturbed.release import PerturbedTable, Retention
from sfumato.queries.columns import Catalog

LEVEL = 0.8  # of likely intervals, as in the paper's experiments
Chance: TypeAlias = Literal["normal", "tail"]  # approximated, or bounded for any number of rows


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """A perturbed attribute, and the value that the rows of each group show."""

    domain: Domain
    kept: Retention
    shown: Ints

    def wanted(self, where: Where) -> Flags:
        """Which values satisfy the condition on the attribute, if there is one."""
        condition = where.get(self.domain.name)
        if condition is None:
            return np.ones(self.domain.size, np.bool_)
        return self.domain.marks(condition).astype(np.bool_)

    def weights(self, wanted: Flags) -> Floats:
        """What a row of each group weighs in a count of the wanted values."""
        weights: Floats = (wanted[self.shown] - self.kept.noise * wanted.sum()) / self.kept.p
        return weights

    def ends(self, wanted: Flags) -> list[float]:
        """What a row can weigh: without a wanted value and with one, so far as it can show them."""
        noise = self.kept.noise * float(wanted.sum())
        shows = [showing for showing in (False, True) if (wanted == showing).any()]
        return [(showing - noise) / self.kept.p for showing in shows]

    def corrected(self, shown: Floats) -> Floats:
        """Per value, the rows to expect, if the rows of each group add up to these."""
        totals = np.bincount(self.shown, shown, self.domain.size)
        corrected: Floats = (totals - self.kept.noise * totals.sum()) / self.kept.p
        return corrected


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """Exact columns of the rows, in groups that show the same perturbed values."""

    catalog: Catalog
    rows: Rows
    sizes: Counts
    noisy: Mapping[str, Noisy]

    @classmethod
    def of_release(cls, release: PerturbedTable) -> Perturbed:
        """Prepare a release; only its tables and its manifest are read."""
        announce(tally)
        domains, codes = zip(*(_read(release, name) for name in release.domains), strict=True)
        matrix = np.stack(codes, axis=1, dtype=np.int32)
        limits = np.array([domain.size for domain in domains], np.int64)
        groups, first, sizes = number_rows(matrix, limits)
        exact = encoded_columns(release.table.drop_columns(list(release.domains)))
        return cls(
            catalog_of(release.manifest, release.table.schema).refusing(exact.refusals),
            Rows.of(exact.columns, groups, len(first)),
            sizes,
            {
                domain.name: Noisy(domain, release.retention(domain.name), shown[first])
                for domain, shown in zip(domains, codes, strict=True)
            },
        )

    def find(self, where: Where) -> Found:
        """Count by exact conditions, weighed by what perturbed values show."""
        scope = self._scope(where)
        return Found(self.rows.tally(where, scope), scope)

    def likely(self, where: Where, level: float = LEVEL, chance: Chance = "normal") -> Likely:
        """Where the count lies, so far as chance can be trusted."""
        found = self.find(where)
        weights, rows = found.scope.share, found.rows
        estimate = float((weights * rows).sum())
        if chance == "normal":
            variance = float((weights * (weights - 1) * rows).sum())
            half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(max(0.0, variance))
        else:
            half = 2 * self._spread(where) * sqrt(float(rows.sum()) * log(2 / (1 - level)))
        most = float(found.scope.most(rows).sum())
        lo, hi = (min(max(0.0, end), most) for end in (estimate - half, estimate + half))
        return Likely(level, lo, hi)

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """The same for every value of an attribute."""
        if name in self.noisy:
            return self._by_noisy(where, name)
        keys, estimate, lo, hi = self.rows.tally_by(where, name, self._scope(where))
        return KeyCounts(keys, np.clip(estimate, lo, hi), lo, hi)

    def choices(self, where: Where, name: str, function: str) -> Choices:
        """Rows weigh what they do in a count; where values are not added up, and no weight may be
        negative, the rows to expect are spread over all that can be chosen.
        """
        if name in self.noisy:
            return self._of_noisy(where, name)
        scope = self._scope(where)
        if not AGGREGATES[function].adds:
            estimate, _, most = self.find(where).counted()
            scope = Scope(np.full(len(self.sizes), estimate / max(1, most)), scope.lack, scope.cap)
        return self.rows.choices(where, name, scope)

    def _spread(self, where: Where) -> float:
        """How far the weights of two rows can lie apart: 1/p under one condition."""
        asked = [noisy for name, noisy in self.noisy.items() if name in where]
        ends = [noisy.ends(noisy.wanted(where)) for noisy in asked]
        weights = [prod(chosen) for chosen in product(*ends)]
        return max(weights) - min(weights)

    def _by_noisy(self, where: Where, name: str) -> KeyCounts:
        estimate, wanted, most = self._by_value(where, name)
        hi = np.where(wanted, most, 0)
        keys = self.noisy[name].domain.values
        return KeyCounts(keys, np.clip(estimate, 0, hi), np.zeros_like(hi), hi)

    def _of_noisy(self, where: Where, name: str) -> Choices:
        """Every row may have any of the wanted numbers."""
        estimate, wanted, most = self._by_value(where, name)
        numbers, rows = self.noisy[name].domain.numbers[wanted], estimate[wanted]
        _, least, _ = self.find(where).counted()
        if not len(numbers):
            numbers, rows = np.zeros(1, numbers.dtype), np.zeros(1)
            most = 0
        doubles = as_doubles(numbers)
        weight = min(max(float(rows.sum()), least), most)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = (rows / weight * doubles).sum() if weight else doubles.mean()
        middle = doubles.min() / 2 + doubles.max() / 2
        expected = np.clip(expected, doubles.min(), doubles.max())  # noise may lead anywhere
        expected = float(middle if np.isnan(expected) else expected)
        return Choices(
            low=np.array([numbers.min()], numbers.dtype),
            high=np.array([numbers.max()], numbers.dtype),
            expected=np.array([expected]),
            weights=np.array([weight]),
            counts=np.array([most]),
            starts=np.array([0, 1]),
            least=np.array([least]),
            most=np.array([most]),
        )

    def _by_value(self, where: Where, name: str) -> tuple[Floats, Flags, int]:
        """Rows to expect of each value, which of them are wanted, and the most rows of any."""
        found = self.find({other: one for other, one in where.items() if other != name})
        noisy = self.noisy[name]
        expected = noisy.corrected(found.scope.share * found.rows)
        return expected, noisy.wanted(where), int(found.scope.most(found.rows).sum())

    def _scope(self, where: Where) -> Scope:
        """Weights in the place of shares; all rows can satisfy the rest, or none, or all must."""
        weights, sure, possible = np.ones(len(self.sizes)), True, True
        for name, noisy in self.noisy.items():
            if name in where:
                wanted = noisy.wanted(where)
                weights = weights * noisy.weights(wanted)
                sure, possible = sure and bool(wanted.all()), possible and bool(wanted.any())
        none = np.zeros_like(self.sizes)
        return Scope(weights, none if sure else self.sizes, self.sizes if possible else none)


def _read(release: PerturbedTable, name: str) -> tuple[Domain, Ints]:
    """The domain of a perturbed attribute, and what every row shows of it."""
    stated, shown = release.domains[name].column(name), release.table.column(name)
    attribute, codes = encode(name, pa.chunked_array([*stated.chunks, *shown.chunks]))
    if attribute.size != len(stated):
        raise DataError(f"{name!r} shows a value that its domain lacks", source=name)
    return Domain(attribute), codes[len(stated) :]
