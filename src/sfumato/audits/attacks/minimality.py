"""Minimality: an algorithm that cuts wherever it may tells something by where it has not cut.

Wong, Fu, Wang, Pei: "Minimality attack in privacy preserving data publishing", VLDB 2007; Cormode,
Srivastava, Li, Li: "Minimizing minimality and maximizing utility", VLDB 2010. Mondrian is public.
A box that it left whole could not be cut: under the true values, every cut would have made a group
that breaks the promise. Not every way to hand out the values of the box has that property, and ways
that have not are ruled out. By rejection:

1. of every box, hand out its published values to its members at random, and run the algorithm on
   these alone; keep the way if it leaves them whole;
2. of small tables, put kept ways of all boxes together, run the algorithm on the table, and keep
   what makes the published boxes. Cuts that were refused further up are seen only here;
3. how often a value is somebody's among the ways that are kept is its chance; the shares of the box
   count as a few more of them, so that few ways do not count for many.

Boxes that overlap say nothing for certain about who is in them, and are passed over. The algorithm
has to be deterministic, and its model has to judge groups by themselves.

A run takes about a millisecond. When time is over the other boxes keep their shares.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.algorithms.base import Partitioner
from sfumato.audits.attacks.frame import Candidates, KnownPeople
from sfumato.audits.attacks.matching import Guesses
from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Schema
from sfumato.models.requirements import Requirement

_PRIOR = 8.0  # ways that the shares of a box count for
_LEAST = 30  # whole tables that say more than boxes one by one


@dataclass(frozen=True, slots=True, eq=False)
class Minimality:
    """The algorithm, what was required of it, and people by their quasi-identifiers.

    ``seconds`` are for all boxes; of each, at most so many ways are ``tried``.
    """

    algorithm: Partitioner
    needs: tuple[Requirement, ...]
    people: Microdata
    seconds: float = 20.0
    tried: int = 200
    small: int = 2_000
    seed: int = 0
    began: float = 0.0

    @classmethod
    def of(
        cls,
        algorithm: Partitioner,
        needs: tuple[Requirement, ...],
        people: KnownPeople,
        candidates: Candidates,
        **options: float,
    ) -> Minimality:
        """Nobody has a value yet; those to hand out are the published ones."""
        published = candidates.values.attribute
        assert published is not None
        blank = replace(
            people,
            schema=Schema(quasi=people.schema.quasi, sensitive=published.name),
            attributes={**people.attributes, published.name: published},
            codes={**people.codes, published.name: np.zeros(people.n_rows, np.int32)},
        )
        return cls(algorithm, needs, blank, **options)  # type: ignore[arg-type]

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The likeliest value of everybody."""
        del known  # of no use here
        return replace(self, began=time.monotonic())._guess(candidates)

    def _guess(self, candidates: Candidates) -> Guesses:
        groups = certain_groups(candidates)
        random = np.random.default_rng(self.seed)
        shares = _shares(candidates)
        chances = np.where(groups[:, None] >= 0, shares[groups], _mean(candidates, shares))
        ways = dict(self._kept(candidates, groups, random))
        for members, kept in ways.values():
            if len(kept):
                own = _counted(kept, candidates.n_values) + _PRIOR * chances[members]
                chances[members] = own / own.sum(axis=1, keepdims=True)
        if self._is_whole(groups, ways):
            self._refined(candidates, groups, ways, chances, random)
        return Guesses(chances.argmax(axis=1).astype(np.int32), chances.max(axis=1))

    def _kept(
        self, candidates: Candidates, groups: Codes, random: np.random.Generator
    ) -> Iterator[tuple[int, tuple[Counts, Codes]]]:
        """Of every box its members, and the ways under which it stays whole."""
        values, sizes = candidates.values, np.bincount(groups[groups >= 0])
        for group in random.permutation(len(sizes)).tolist():
            members = np.flatnonzero(groups == group)
            own = slice(values.starts[group], values.starts[group + 1])
            held = np.repeat(values.values[own], values.counts[own])
            if len(held) != len(members) or len(held) < 2:
                continue
            if self._is_over(1 / 2):
                return
            table = self.people.take(members)
            drawn = (random.permutation(held) for _ in range(self.tried))
            kept = [way for way in drawn if self._groups(table, way).max() == 0]
            yield group, (members, np.array(kept, np.int32).reshape(-1, len(members)))

    def _is_whole(self, groups: Codes, ways: dict[int, tuple[Counts, Codes]]) -> bool:
        """Whether tables can be put together of what was kept, and be tried."""
        covered = sum(len(members) for members, kept in ways.values() if len(kept))
        return covered == len(groups) <= self.small

    def _refined(
        self,
        candidates: Candidates,
        groups: Codes,
        ways: dict[int, tuple[Counts, Codes]],
        chances: Floats,
        random: np.random.Generator,
    ) -> None:
        """Chances by the whole tables that make the published boxes, if these are found."""
        expected, tables = _numbered(groups), list[Codes]()
        while not self._is_over(1) and len(tables) < self.tried:
            way = np.empty(len(groups), np.int32)
            for members, kept in ways.values():
                way[members] = kept[random.integers(0, len(kept))]
            if (_numbered(self._groups(self.people, way)) == expected).all():
                tables.append(way)
        if len(tables) >= _LEAST:
            own = _counted(np.array(tables), candidates.n_values)
            own += _PRIOR * _shares(candidates)[groups]
            chances[:] = own / own.sum(axis=1, keepdims=True)

    def _groups(self, table: Microdata, way: Codes) -> Codes:
        (name,) = table.schema.sensitive
        handed = replace(table, codes={**table.codes, name: way})
        return self.algorithm.partition(handed, self.needs, Randomness(0)).groups

    def _is_over(self, share: float) -> bool:
        return time.monotonic() - self.began > share * self.seconds


def certain_groups(candidates: Candidates) -> Codes:
    """The group of everybody, -1 for those who may be in several."""
    one_claim = np.diff(candidates.claims.starts) == 1
    first = candidates.claims.items[
        np.minimum(candidates.claims.starts[:-1], len(candidates.claims.items) - 1)
    ]
    one_group = np.diff(candidates.groups.starts)[first] == 1
    group = candidates.groups.items[candidates.groups.starts[first]]
    found = np.where(one_claim & one_group, group, -1)
    return found[candidates.subjects].astype(np.int32)


def _shares(candidates: Candidates) -> Floats:
    values = candidates.values
    shares = np.zeros((values.n_groups, candidates.n_values))
    shares[values.groups, values.values] = values.shares
    return shares


def _mean(candidates: Candidates, shares: Floats) -> Floats:
    sizes = np.bincount(candidates.values.groups, candidates.values.counts)
    mean: Floats = sizes @ shares / sizes.sum()
    return mean


def _counted(ways: Codes, n_values: int) -> Floats:
    """How often everybody has each value."""
    n = ways.shape[1]
    keys = np.arange(n) * n_values + ways
    return np.bincount(keys.ravel(), minlength=n * n_values).reshape(n, n_values).astype(np.float64)


def _numbered(groups: Codes) -> Ints:
    """Groups numbered by who is in them first."""
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    found: Ints = first[places]
    return found
