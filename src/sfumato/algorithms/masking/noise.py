"""Additive noise: every number is shown with a random one added to it.

Kim: "A method for limiting disclosure in microdata based on random noise and transformation", 1986;
Agrawal, Srikant: "Privacy-preserving data mining", SIGMOD 2000. Noise is normal, its mean 0:

    independent  each column has noise of its own, ``amount`` times as wide as its values
    correlated   the noise of all columns together has the covariances of the values, times
                 amount^2: those of what is shown are (1 + amount^2) times those of the values,
                 so correlations stay as they are

The covariances of the noise are stated, so that readers can subtract them, and find distributions
from what is shown. Missing values stay missing, which noise does not hide. Numbers are rounded to a
thousandth of the noise or so: the last digits of a double tell which sums can have made it, and so
which values are possible. Noise that doubles cannot show beside the values hides nothing, and is
refused. Dates are rounded to days, which adds a twelfth to their variance. O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite, log10, sqrt
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.algorithms.masking.mask import (
    Masked,
    chosen,
    numbers_of,
    stated_spread,
    step_of,
)
from sfumato.core.arrays import Flags, Floats, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.microdata import Microdata
from sfumato.core.moments import calendar_limits
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SchemaError

MODEL = "additive noise"
_MOST = 100.0  # times as wide as the values
_FINER = 2  # digits that are shown below the first of the noise
_LEAST = 1e-290  # a variance; smaller ones lose their digits, or are 0
_STEPS = 8.0  # of the doubles at the largest value, which the noise is as wide as at least


@dataclass(frozen=True, slots=True)
class Noise:
    """Add normal noise to numbers and dates, ``amount`` times their standard deviation.

    ``columns`` are those to add it to, by default all quasi-identifiers that are numbers or dates.
    ``correlated`` noise leaves correlations as they are.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.mask(patients.of_quasi(["age"]), sf.Noise(0.3))
    >>> abs(release.mean("age") - 50) < 20
    True
    """

    name: ClassVar[str] = "noise"
    amount: float = 0.5
    correlated: bool = False
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Nothing is hidden by nothing."""
        object.__setattr__(self, "columns", tuple(self.columns))
        if not (isfinite(self.amount) and 0 < self.amount <= _MOST):
            raise ParameterError(
                f"amount must lie above 0, and not above {_MOST:g} standard deviations of the "
                f"values; {self.amount} does not",
                parameter="amount",
            )

    def masked(self, table: Microdata, randomness: Randomness) -> Masked:
        """Add noise to the columns."""
        attributes = [table.attributes[name] for name in self._columns(table)]
        names = [one.name for one in attributes]
        read = [numbers_of(one, table.codes[one.name]) for one in attributes]
        covariances = self.amount**2 * self._covariances(read)
        # what overflows is refused here
        stated_spread(names, covariances)
        for place, name in enumerate(names):
            _require_hiding(name, table.codes[name], read[place], float(covariances[place, place]))
        noise = _normal(randomness, table.n_rows, covariances)
        spread = stated_spread(names, covariances + np.diag([_rounding(one) for one in attributes]))
        shown, stated = {}, []
        for place, (one, (numbers, known)) in enumerate(zip(attributes, read, strict=True)):
            deviation = float(np.sqrt(covariances[place, place]))
            shown[one.name] = _shown(one, numbers + noise[:, place], known, deviation)
            stated.append(
                {"model": MODEL, "on": one.name, "spread": spread[one.name], "step": step_of(one)}
            )
        return Masked(shown, tuple(stated), np.arange(table.n_rows))

    def _columns(self, table: Microdata) -> tuple[str, ...]:
        usual = [one.name for one in table.quasi if _takes_noise(one)]
        names = chosen(table, self.columns, usual, "add noise to")
        for name in names:
            if not _takes_noise(table.attributes[name]):
                raise SchemaError(
                    f"column {name!r} holds {table.attributes[name].values.type} values of the "
                    f"{table.attributes[name].kind} kind, and noise is added to numbers and dates; "
                    "swap such values instead (sf.Swap)",
                    column=name,
                )
        return names

    def _covariances(self, read: list[tuple[Floats, Flags]]) -> Floats:
        """Those of the values; rows without a value stand at the mean of the others."""
        apart = np.empty((len(read[0][0]), len(read)))
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (numbers, known) in enumerate(read):
                centre = numbers[known].mean() if known.any() else 0.0
                apart[:, place] = np.where(known, numbers - centre, 0.0)
            found: Floats = apart.T @ apart / len(apart)
        return found if self.correlated else np.diag(np.diag(found))


def _takes_noise(attribute: Attribute) -> bool:
    kind = attribute.values.type
    return attribute.kind is Kind.NUMERICAL and (
        pa.types.is_date(kind) or not pa.types.is_temporal(kind)
    )


def _require_hiding(name: str, codes: Ints, read: tuple[Floats, Flags], variance: float) -> None:
    """Raise where values differ, and the noise would be lost among their digits."""
    numbers, known = read
    if len(np.unique(codes[known])) < 2:
        return
    widest = float(np.abs(numbers[known]).max())
    if variance < _LEAST and widest < 1:
        raise DataError(
            f"the numbers of {name!r} are too small to be squared, so that no noise would be "
            "added; multiply them",
            source=name,
        )
    if sqrt(variance) < _STEPS * float(np.spacing(widest)):
        raise DataError(
            f"the noise of {name!r} is finer than doubles that large can show; subtract a constant "
            "from the numbers, or choose a larger amount",
            source=name,
        )


def _rounding(attribute: Attribute) -> float:
    """What rounding adds to the variance."""
    date = pa.types.is_temporal(attribute.values.type)
    return step_of(attribute) ** 2 / 12 if date else 0.0


def _normal(randomness: Randomness, rows: int, covariances: Floats) -> Floats:
    """Normal numbers with these covariances, by the symmetric root, which singular ones have."""
    values, vectors = np.linalg.eigh(covariances)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    plain = normals(randomness, rows * len(covariances)).reshape(rows, -1)
    found: Floats = plain @ root
    return found


def normals(randomness: Randomness, n: int) -> Floats:
    """Standard normal numbers (Box, Muller)."""
    one, other = randomness.words(n) >> np.uint64(11), randomness.words(n) >> np.uint64(11)
    radius = np.sqrt(-2 * np.log((one + 1.0) * 2.0**-53))
    found: Floats = radius * np.cos(2 * np.pi * (other * 2.0**-53))
    return found


def _shown(attribute: Attribute, numbers: Floats, known: Flags, deviation: float) -> pa.Array:
    kind = attribute.values.type
    if pa.types.is_temporal(kind):
        step = step_of(attribute)
        if 0 < deviation < step:
            raise ParameterError(
                f"noise of {deviation / step:.2g} days leaves most dates of {attribute.name!r} as "
                "they are; choose a larger amount",
                parameter="amount",
            )
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        whole = np.rint(numbers / step) * step
        _require_calendar(attribute, whole[known])
        return pa.array(whole, mask=~known).cast(width).cast(kind)
    if deviation > 0:
        digits = _FINER - floor(log10(deviation))
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(numbers, digits)
        numbers = np.where(np.isfinite(rounded), rounded, numbers)
    return pa.array(numbers + 0.0, mask=~known)


def _require_calendar(attribute: Attribute, days: Floats) -> None:
    """Raise where noise leads to dates that have no name."""
    limits = calendar_limits(attribute.values.type)
    assert limits is not None
    if len(days) and not limits[0] <= days.min() <= days.max() <= limits[1]:
        raise ParameterError(
            f"noise takes dates of {attribute.name!r} beyond the years 1 and 9999; choose a "
            "smaller amount, or leave such dates out",
            parameter="amount",
        )
