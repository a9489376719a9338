"""The methods of sfumato publish: which algorithm each is, and which options it takes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.masking import Mask
from sfumato.queries.workload_files import read_workload

if TYPE_CHECKING:
    from sfumato.algorithms.join.methods import JoinMethod


@dataclass(frozen=True, slots=True)
class Method:
    """How to make the algorithm, and the options of its own."""

    make: Callable[[dict[str, Any]], Partitioner]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Masking:
    """How to make a mask, and the options of its own."""

    make: Callable[[dict[str, Any]], Mask]
    options: tuple[str, ...] = ()


def _size(given: dict[str, Any]) -> int:
    if given["k"] is None:
        raise click.UsageError("microaggregate: say how many rows a group has at least: --k")
    return int(given["k"])


def _mondrian(given: dict[str, Any]) -> Partitioner:
    workload = given["workload"]
    return sf.Mondrian(
        relaxed=given["relaxed"],
        choose="round-robin" if given["round_robin"] else "widest",
        workload=read_workload(workload) if workload else (),
        **_refining(given),
    )


def _anatomize(given: dict[str, Any]) -> Partitioner:
    return sf.Anatomize(near=given["near"], size=given["size"])


_REFINING = ("refine", "time_limit")
_CUTTING = ("suppress", "time_limit")


def _refining(given: dict[str, Any]) -> dict[str, Any]:
    if not given["refine"]:
        require_default(["time_limit"], "this method searches with --refine only")
    return {option: given[option] for option in _REFINING}


def _cutting(given: dict[str, Any]) -> dict[str, Any]:
    return {option: given[option] for option in _CUTTING}


def seconds(given: str | float) -> float | None:
    """A number of seconds; None, which is no limit, for the word none."""
    return None if given == "none" else float(given)


def names(given: str) -> tuple[str, ...]:
    """Columns, with commas between."""
    return tuple(name.strip() for line in csv.reader([given]) for name in line)


# an algorithm is imported when it is made: most commands want one of ten
METHODS = {
    "mondrian": Method(_mondrian, ("relaxed", "round_robin", "workload", *_REFINING)),
    "topdown": Method(lambda given: sf.TopDown(**_refining(given)), _REFINING),
    "local": Method(
        lambda given: sf.LocalRecoding(time_limit=given["time_limit"]), ("time_limit",)
    ),
    "branches": Method(lambda _: sf.BranchMondrian()),
    "full-domain": Method(lambda given: sf.FullDomain(**_cutting(given)), _CUTTING),
    "subtree": Method(lambda given: sf.Subtree(**_cutting(given)), _CUTTING),
    "sibling": Method(lambda given: sf.Sibling(**_cutting(given)), _CUTTING),
    "single-dimensional": Method(
        lambda given: sf.SingleDimensional(time_limit=given["time_limit"]), ("time_limit",)
    ),
    "anatomy": Method(_anatomize, ("near", "size")),
    "frontier": Method(
        lambda given: sf.Frontier(size=given["size"], **_refining(given)), ("size", *_REFINING)
    ),
}
MASKS = {
    "microaggregate": Masking(lambda given: sf.Microaggregate(k=_size(given)), ("k",)),
    "noise": Masking(
        lambda given: sf.Noise(given["amount"], given["correlated"], given["columns"]),
        ("amount", "correlated", "columns"),
    ),
    "swap": Masking(
        lambda given: sf.Swap(given["reach"], given["inside"], given["columns"]),
        ("reach", "inside", "columns"),
    ),
}
JOINS = ("refinement", "direct")
_OF_SOME = {option for method in METHODS.values() for option in method.options}


def algorithm_of(name: str, given: dict[str, Any]) -> Partitioner:
    """The algorithm of a method, or a refusal of options that it does not take."""
    method = METHODS[name]
    for option in sorted(_OF_SOME - set(method.options)):
        takers = [other for other, known in METHODS.items() if option in known.options]
        require_default(
            [option], f"the method {name} does not take it; it is for {', '.join(takers)}"
        )
    return method.make(given)


def masks_options() -> list[str]:
    """What no other method takes; --k is for groups, too."""
    return sorted({option for mask in MASKS.values() for option in mask.options} - {"k"})


def mask_of(name: str, given: dict[str, Any], unused: Iterable[str]) -> Mask:
    """The mask of a method, or a refusal of options that it does not take."""
    taken = MASKS[name].options
    others = {option for one in MASKS.values() for option in one.options}
    for option in sorted({*unused, *others} - set(taken)):
        require_default([option], f"the method {name} does not take it: it replaces values")
    return MASKS[name].make(given)


def join_of(name: str, given: dict[str, Any]) -> JoinMethod:
    """The way to join over the algorithm of a method."""
    make = sf.Direct if given["join"] == "direct" else sf.Refinement
    return make(algorithm_of(name, given), trim=not given["no_trim"])


def require_default(names: Iterable[str], why: str) -> None:
    """Refuse options that would be without effect."""
    context = click.get_current_context()
    options = {option.name: option for option in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            typed = "/".join([*options[name].opts, *options[name].secondary_opts])
            raise click.UsageError(f"{typed}: {why}")
