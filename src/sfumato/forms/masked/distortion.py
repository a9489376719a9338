"""How the values of a column were replaced, as release.json states it.

One line of the promise for each masked column:

    microaggregation  spread, step   a number: covariances of what rows lie away from their groups
    microaggregation  changed        a category: the share of rows that show another value
    additive noise    spread, step   covariances of the noise
    swapping          reach, inside  with rows up to this share of all ranks away, which are equal
                                     on these columns
    swapping          and spread     a number: covariances that swapping took away, those with
                                     numbers that are not masked among them
    synthetic rows    changed        the share of rows with a value, or a pair of values, that is
                                     too rare to be drawn

Beside them one line of the whole release:

    likely intervals  stretch        by how much intervals are longer than chance alone makes them,
                                     for one, two and more masked columns (calibration.py)

``spread`` leads from the names of masked numbers to covariances, ``step`` is 1 where values are
whole, or a day in milliseconds (0 where neither). All are figures of the whole table, with four
digits. They are the publisher's word: nothing in the files shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from sfumato.errors import SchemaError
from sfumato.forms.manifest import Manifest

MICROAGGREGATION = "microaggregation"
NOISE = "additive noise"
SWAPPING = "swapping"
SYNTHETIC = "synthetic rows"
INTERVALS = "likely intervals"
_DIGITS = 4
_STEPS = (0, 1, 86_400_000)
_SHAPES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    MICROAGGREGATION: (("spread", "step"), ("changed",)),
    NOISE: (("spread", "step"),),
    SWAPPING: (("reach", "inside", "spread"), ("reach", "inside")),
    SYNTHETIC: (("changed",),),
}


@dataclass(frozen=True, slots=True)
class Distortion:
    """What is known of a masked column."""

    model: str
    on: str
    spread: Mapping[str, float] = field(default_factory=dict)
    step: int = 0
    changed: float = 0.0
    reach: float = 0.0
    inside: tuple[str, ...] = ()

    @property
    def variance(self) -> float:
        """That of what was added, or taken away."""
        return self.spread.get(self.on, 0.0)


def is_distortion(model: str) -> bool:
    """Whether this is a word for a way to replace values."""
    return model in _SHAPES


def distortions(manifest: Manifest) -> dict[str, Distortion]:
    """What release.json states, by column."""
    return {
        str(one["on"]): distortion_of(one)
        for one in manifest.promise
        if is_distortion(str(one.get("model")))
    }


def stretch_of(manifest: Manifest) -> tuple[float, ...]:
    """By how much likely intervals are stretched; nothing where it is not stated."""
    for one in manifest.promise:
        if one.get("model") == INTERVALS:
            for flaw in flaws_of_intervals(one):
                raise SchemaError(f"release.json does not say how far counts are off: {flaw}")
            return tuple(one["stretch"])
    return ()


def intervals_stated(stretch: Sequence[float]) -> dict[str, Any]:
    """The line that states a stretch."""
    return {"model": INTERVALS, "on": None, "stretch": list(stretch)}


def flaws_of_intervals(stated: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the line of likely intervals."""
    if tuple(stated) != ("model", "on", "stretch") or stated["on"] is not None:
        yield "likely intervals are stated of the whole release, by their stretch"
    elif not _is_stretch(stated["stretch"]):
        yield "the stretch of likely intervals is none"


def distortion_of(stated: Mapping[str, Any]) -> Distortion:
    """One line, read; raises where it is not such a line."""
    for flaw in flaws_of(stated):
        raise SchemaError(f"release.json does not say how a column was masked: {flaw}")
    found: dict[str, Any] = {**stated}
    found["inside"] = tuple(stated.get("inside", ()))
    return Distortion(**found)


def flaws_of(stated: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a line."""
    model, on = stated.get("model"), stated.get("on")
    if not isinstance(on, str):
        yield "it names no column"
    elif tuple(stated)[2:] not in _SHAPES[str(model)] or tuple(stated)[:2] != ("model", "on"):
        ways = " or ".join(" and ".join(shape) or "nothing" for shape in _SHAPES[str(model)])
        yield f"{model} of {on!r} is stated by {ways}"
    else:
        for name in tuple(stated)[2:]:
            if not _CHECKS[name](stated[name]):
                yield f"the {name} of {on!r} is none"
        if isinstance(spread := stated.get("spread"), Mapping) and not spread.get(on, -1.0) >= 0:
            yield f"the spread of {on!r} has no variance"


def _is_spread(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_figure(one) for one in value.values())


def _is_figure(value: Any) -> bool:
    """A number of so few digits that no message fits into it."""
    return type(value) is float and isfinite(value) and float(f"{value:.{_DIGITS}g}") == value


def _is_stretch(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and 0 < len(value) <= 3
        and all(type(one) is float and one >= 1 and float(f"{one:.2g}") == one for one in value)
    )


_CHECKS: Mapping[str, Any] = {
    "spread": _is_spread,
    "step": lambda value: type(value) is int and value in _STEPS,
    "changed": lambda value: _is_figure(value) and 0 <= value <= 1,
    "reach": lambda value: type(value) is float and 0 < value <= 1,
    "inside": lambda value: (
        isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    ),
}
