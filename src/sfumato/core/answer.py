"""What comes back from a question.

``lo`` and ``hi`` are hard: the true value lies between them in every table that could have been
published like this. ``estimate`` is soft: what to expect if values inside a group are spread evenly
and independently; nobody vouches for it. Where noise of a known kind was added, ``likely`` says how
far it may have moved the estimate: an interval that contains the true value in so many of all
releases that chance could have made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts, Floats
from sfumato.core.exact import SAFE
from sfumato.core.frames import pandas_frame
from sfumato.core.html import Drawing, card, grid, range_bar
from sfumato.core.moments import is_moment, of_python
from sfumato.core.query import ENDINGS
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Likely:
    """A confidence interval: with probability ``level``, noise leaves the truth in it.

    >>> print(sf.Likely(0.8, 2.0, 5.0))
    with 80% confidence from 2 to 5
    """

    level: float
    lo: float
    hi: float

    def __contains__(self, value: Any) -> bool:
        return bool(self.lo <= value <= self.hi)

    def __str__(self) -> str:
        return f"with {self.level:.0%} confidence from {_short(self.lo)} to {_short(self.hi)}"


@dataclass(frozen=True, slots=True)
class Answer:
    """One value: an estimate, and bounds that hold. All three are None where no row can qualify.

    ``nullable`` says that possibly no row qualifies: the bounds then hold if one does (a count, or
    a sum, of no rows is 0 and within its bounds anyhow).

    >>> answer = sf.Answer(estimate=2.5, lo=2, hi=3)
    >>> print(answer)
    about 2.5, surely from 2 to 3
    >>> 4 in answer
    False
    """

    estimate: Any
    lo: Any
    hi: Any
    nullable: bool = False
    likely: Likely | None = None

    @property
    def exact(self) -> bool:
        """Whether the bounds leave one value."""
        return bool(self.lo == self.hi)

    @property
    def width(self) -> Any:
        """Distance between the bounds; None without bounds."""
        return None if self.lo is None else self.hi - self.lo

    def __contains__(self, value: Any) -> bool:
        return self.lo is not None and bool(self.lo <= value <= self.hi)

    def _repr_html_(self) -> str:
        """The sentence, and bounds as a bar."""
        drawn = _drawn(self, _ends([self]))
        return card(str(self), *([] if drawn is None else [drawn]))

    def __str__(self) -> str:
        if self.lo is None:
            return "no row qualifies"
        if self.exact:
            return f"{self.lo} exactly"
        likely = "" if self.likely is None else f" {self.likely},"
        ends = f"{_short(self.lo)} to {_short(self.hi)}"
        return f"about {_short(self.estimate)},{likely} surely from {ends}"


@dataclass(frozen=True, slots=True, eq=False)
class CountAnswers:
    """The answers to a workload of counts, query by query."""

    estimate: Floats
    lo: Counts
    hi: Counts

    def __add__(self, other: CountAnswers) -> CountAnswers:
        """Of the rows of both."""
        return CountAnswers(self.estimate + other.estimate, self.lo + other.lo, self.hi + other.hi)

    def __len__(self) -> int:
        return len(self.estimate)

    def __repr__(self) -> str:
        return f"CountAnswers({len(self):,} queries)"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The answers to a query: one line per group, or a single one.

    ``table`` has the grouping columns, and for every aggregate NAME the columns NAME_estimate,
    NAME_lo and NAME_hi; NAME_likely_lo and NAME_likely_hi where some answer has such an interval.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> found = patients.query("SELECT sex, COUNT(*) FROM t GROUP BY sex")
    >>> found
    Result(2 x (sex, count))
    >>> found.table.to_pylist()[0]
    {'sex': 'F', 'count_estimate': 479.0, 'count_lo': 479, 'count_hi': 479}
    """

    by: tuple[str, ...]
    names: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...]
    answers: tuple[tuple[Answer, ...], ...]
    types: tuple[pa.DataType, ...]

    @property
    def answer(self) -> Answer:
        """The answer, where there is one."""
        if self.by or len(self.names) != 1:
            raise ParameterError("there are several answers; use .answers or .table", parameter="")
        return self.answers[0][0]

    @property
    def table(self) -> pa.Table:
        """All answers as columns."""
        columns: dict[str, pa.Array] = {}
        for place, name in enumerate(self.by):
            columns[name] = _array([key[place] for key in self.keys], self.types[place])
        for place, name in enumerate(self.names):
            kind = self.types[len(self.by) + place]
            found = [line[place] for line in self.answers]
            for end in ENDINGS:
                values = [getattr(one, end) for one in found]
                estimated = end == "estimate" and pa.types.is_integer(kind)
                columns[f"{name}_{end}"] = (
                    _estimates(values, kind) if estimated else _array(values, kind)
                )
            columns.update(_likely_columns(name, [one.likely for one in found]))
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """The answers as a data frame."""
        return pandas_frame(self.table)

    def __len__(self) -> int:
        return len(self.keys)

    def _repr_html_(self) -> str:
        """A line per group, bounds as bars along one scale for each aggregate."""
        ends = [_ends([line[place] for line in self.answers]) for place in range(len(self.names))]
        head = [*self.by, *(part for name in self.names for part in (name, ""))]
        rows = [
            [*key, *(cell for one, scale in zip(line, ends, strict=True)
                     for cell in (_told(one), _drawn(one, scale) or ""))]
            for key, line in zip(self.keys, self.answers, strict=True)
        ]  # fmt: skip
        return card(repr(self), grid(head, rows, left=max(len(self.by), 1)))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Lines: the keys, then an Answer per aggregate."""
        for key, line in zip(self.keys, self.answers, strict=True):
            yield (*key, *line)

    def __repr__(self) -> str:
        shown = ", ".join((*self.by, *self.names))
        return f"Result({len(self):,} x ({shown}))"


def _ends(answers: Sequence[Answer]) -> tuple[float, float] | None:
    """The scale on which bounds are drawn, from 0 where all are above; None if they are no numbers
    or leave one value each.
    """
    known = [one for one in answers if isinstance(one.lo, int | float | Decimal)]
    if all(one.exact for one in known):
        return None
    low, high = min(float(one.lo) for one in known), max(float(one.hi) for one in known)
    return (min(low, 0.0), high) if math.isfinite(high - low) else None


def _drawn(answer: Answer, ends: tuple[float, float] | None) -> Drawing | None:
    if ends is None or answer.lo is None:
        return None
    return range_bar(float(answer.lo), float(answer.hi), float(answer.estimate), ends)


def _told(answer: Answer) -> str:
    if answer.lo is None or answer.exact:
        return "" if answer.lo is None else _short(answer.lo)
    return f"{_short(answer.estimate)} ({_short(answer.lo)} to {_short(answer.hi)})"


def plain(value: Any) -> Any:
    """A value as JSON has it: dates in ISO form, durations in seconds.

    Decimals are numbers where a double is written like them, else texts: none is rounded.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    return value


def _likely_columns(name: str, found: Sequence[Likely | None]) -> dict[str, pa.Array]:
    if not any(found):
        return {}
    return {
        f"{name}_likely_{end}": pa.array(
            [None if one is None else getattr(one, end) for one in found], pa.float64()
        )
        for end in ("lo", "hi")
    }


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values in their type, or a wider one: sums, and numbers without a sign, may need it."""
    if kind == pa.int64():
        return _whole_numbers(values)
    if is_moment(kind):
        return of_python(values, kind)
    if not pa.types.is_decimal(kind):
        return pa.array(values, kind)
    try:
        return pa.array(values, kind)
    except pa.ArrowInvalid:
        return pa.array(values, pa.decimal256(76, kind.scale))


def _whole_numbers(values: Sequence[Any]) -> pa.Array:
    known = [value for value in values if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    if low >= -(2**63) and high < 2**63:
        return pa.array(values, pa.int64())
    if low >= 0 and high < 2**64:
        return pa.array(values, pa.uint64())
    return pa.array([None if value is None else Decimal(value) for value in values],
                    pa.decimal128(38, 0))  # fmt: skip


def _estimates(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Expected counts and sums are fractions, whatever they are of. Where one is so large that
    doubles do not have every whole number beside it they are whole numbers, as their bounds are.
    """
    known = [value for value in values if value is not None]
    if all(abs(value) < SAFE for value in known):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return _array([None if value is None else round(value) for value in values], kind)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
