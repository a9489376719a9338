"""The algorithms that ship, by the names and options that release.json states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.anatomize.blocks import BLOCKS
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.frontier import Frontier
from sfumato.algorithms.intervals import SingleDimensional
from sfumato.algorithms.masking.microaggregate import Microaggregate
from sfumato.algorithms.masking.noise import Noise
from sfumato.algorithms.masking.swap import Swap
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.mondrian.branches import BranchMondrian
from sfumato.algorithms.qids import SeveralQIDs
from sfumato.algorithms.recoding.full_domain import FullDomain
from sfumato.algorithms.recoding.local import LocalRecoding
from sfumato.algorithms.recoding.subtree import Sibling, Subtree
from sfumato.algorithms.topdown import TopDown
from sfumato.forms.manifest import MANY

ALGORITHMS: Mapping[str, type[Any]] = {
    algorithm.name: algorithm
    for algorithm in (
        Mondrian, TopDown, LocalRecoding, BranchMondrian, FullDomain, Subtree, Sibling,
        SingleDimensional, Anatomize, Frontier, Microaggregate, Noise, Swap, SeveralQIDs,
    )
}  # fmt: skip
_MAY_BE_NONE = ("time_limit", "node_limit", "size")
# what is counted beside the options of an algorithm, and the least that is worth a word
BESIDE = {
    Mondrian.name: {"workload": 1}, TopDown.name: {"regions": 2}, Anatomize.name: {BLOCKS: 2},
}  # fmt: skip


def made(kind: type[Any], options: Mapping[str, Any]) -> Partitioner:
    """The algorithm with these options, each of the type that it has by default."""
    if kind is SeveralQIDs:
        return _of_several(options)
    default = kind()
    for name, value in options.items():
        usual = getattr(default, name, None)
        known = (int, float) if isinstance(usual, float) or usual is None else (type(usual),)
        if isinstance(usual, tuple):
            known = (list,)  # QIDs, which are compared with the promises
        if value is not None and (type(value) not in known or _is_long(value)):
            raise ValueError(f"{name} is {str(value)[:20]!r}")
        if value is None and usual is not None and name not in _MAY_BE_NONE:
            raise ValueError(f"{name} is nothing")
    made: Partitioner = kind(**options)
    return made


def _of_several(options: Mapping[str, Any]) -> SeveralQIDs:
    """Another algorithm and the QIDs, which are compared with the promises."""
    inner, qids = dict(options["method"]), options["qids"]
    name = inner.pop("name", None)
    listed = list(options) == ["method", "qids"] and isinstance(qids, list | tuple)
    if not listed or name not in ALGORITHMS:
        raise ValueError("it is no method with QIDs")
    return SeveralQIDs(made(ALGORITHMS[name], inner), qids)


def _is_long(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > MANY
