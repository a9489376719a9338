"""Every algorithm of the package, in every variant, found by looking."""

import importlib
import itertools
import pkgutil
import types
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import sfumato.algorithms as package
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.qids import SeveralQIDs


def partitioner_classes() -> list[type[Any]]:
    """Public dataclasses with a name and a partition method, in any module of the package."""
    found: dict[type[Any], None] = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for thing in vars(importlib.import_module(module.name)).values():
            if isinstance(thing, type) and _is_partitioner(thing):
                found[thing] = None
    return list(found)


def _is_partitioner(thing: type[Any]) -> bool:
    return (
        is_dataclass(thing)
        and thing.__module__.startswith(package.__name__)
        and callable(getattr(thing, "partition", None))
        and isinstance(getattr(thing, "name", None), str)
        and isinstance(getattr(thing, "form", None), str)  # not so the ways to join two tables
        and thing is not SeveralQIDs  # which names columns; tests/unit/algorithms/test_qids.py
    )


def variants(algorithm: type[Any]) -> Iterator[Partitioner]:
    """One instance per combination of the options that can be listed; defaults for the rest."""
    hints = get_type_hints(algorithm)
    options = {
        field.name: choices
        for field in fields(algorithm)
        if (choices := _choices(field, hints[field.name]))
    }
    for values in itertools.product(*options.values()):
        yield algorithm(**dict(zip(options, values, strict=True)))


def refined() -> list[Partitioner]:
    """Of every algorithm that can refine its groups, one that does."""
    return [cls(refine=2) for cls in partitioner_classes() if hasattr(cls, "refine")]


def _choices(field: "Field[Any]", hint: Any) -> tuple[Any, ...]:
    if hint is bool:
        return (False, True)
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        listed = [_choices(field, part) for part in get_args(hint) if part is not type(None)]
        return (None, *itertools.chain(*listed)) if all(listed) else ()
    if field.default is MISSING and field.default_factory is MISSING and hint is Partitioner:
        return tuple(cls() for cls in partitioner_classes() if not _required(cls))
    return ()


def _required(algorithm: type[Any]) -> bool:
    return any(
        field.default is MISSING and field.default_factory is MISSING for field in fields(algorithm)
    )


def identify(thing: Any) -> str:
    """A readable test id."""
    return str(thing)
