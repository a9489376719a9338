"""A good level vector of a lattice that is too large to search, and how good it can be at most.

Down from the top, up to ``_WIDTH`` vectors at a time (a beam): of all vectors one step finer that
still keep the model, the cheapest go on. A vector and its neighbours below are all rolled up from
the one that is a step finer on every attribute, so that most of the way sets are small.

The bound: what is doomed with all other attributes at the top is doomed with them anywhere. So
attributes are divided into blocks whose lattices can be searched, those with many values first, and
a block costs no less than the cheapest of its vectors that is not doomed. For discernibility, which
does not add up, a block is one attribute: no vector is finer than the one of their lowest levels.
"""

from __future__ import annotations

from sfumato.algorithms._lattice import Lattice
from sfumato.algorithms._levels import LevelJudge, Levels, size_of
from sfumato.algorithms.base import Progress, unheard

_WIDTH = 8
_VISITS = 3_000  # about as many as a beam of full width may take
_BLOCK = 20_000  # vectors


def descend(judge: LevelJudge, hear: Progress) -> tuple[Levels, float]:
    """The best vector that the beam meets, and its cost."""
    best, cost = judge.top, judge.verdict(judge.top).cost
    beam, seen = [judge.top], {judge.top}
    depth = sum(judge.top)
    width = max(1, min(_WIDTH, _VISITS // (depth * len(judge.top))))
    while beam:
        hear(1 - sum(beam[0]) / depth)
        found: list[tuple[float, Levels]] = []
        for levels in beam:
            judge.groups(tuple(max(0, level - 1) for level in levels))
            for finer in _below(levels, seen):
                verdict = judge.verdict(finer)
                if verdict.allowed:
                    found.append((verdict.cost, finer))
        beam = [finer for _, finer in sorted(found)[:width]]
        cost, best = min([(cost, best), *found])
    return best, cost


def lower_bound(judge: LevelJudge) -> float:
    """What no vector can cost less than."""
    adds_up = judge.judge.cost == "ncp"
    blocks = _blocks(judge) if adds_up else [[j] for j in range(len(judge.top))]
    found = [_best_of_block(judge, block) for block in blocks]
    lowest = tuple(min(levels) for levels in zip(*found, strict=True))
    if not adds_up:
        return judge.judge.base(judge.groups(lowest), judge.recodings(lowest))
    costs = zip(judge.level_costs(), lowest, strict=True)
    return float(sum(by_level[level] for by_level, level in costs))


def _best_of_block(judge: LevelJudge, block: list[int]) -> Levels:
    low = tuple(0 if j in block else top for j, top in enumerate(judge.top))
    lattice = Lattice(judge, low, relaxed=True)
    lattice.search(unheard)
    return lattice.best


def _below(levels: Levels, seen: set[Levels]) -> list[Levels]:
    """Vectors one step finer that were not met before."""
    steps = [(*levels[:j], level - 1, *levels[j + 1 :]) for j, level in enumerate(levels) if level]
    new = [step for step in steps if step not in seen]
    seen.update(new)
    return new


def _blocks(judge: LevelJudge) -> list[list[int]]:
    """Attributes in groups, as many in each as its lattice may have vectors for."""
    blocks: list[list[int]] = [[]]
    for j in sorted(range(len(judge.top)), key=lambda j: -judge.ladders[j][0].n_classes):
        tops = tuple(judge.top[i] for i in (*blocks[-1], j))
        if blocks[-1] and size_of(tops) > _BLOCK:
            blocks.append([])
        blocks[-1].append(j)
    return blocks
