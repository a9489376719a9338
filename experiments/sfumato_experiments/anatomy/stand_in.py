"""Generated rows with the nine domain sizes of Anatomy's Table 6. They are not real persons.

Two hidden traits, age and standing, tie the columns together: education and occupation follow
standing, gender and each other, the marital status follows age, country follows race, and salary
follows standing, age and gender. Occupation and salary are cut into 50 classes of similar size, so
that l = 10 is feasible as in the paper. Shares and strengths are invented, the uneven levels of
education so that generalization fares as on real tables: a smoother version made it the better
method for few attributes. These rows show that the programs work, not that the paper is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

SIZES = {
    "age": 78, "gender": 2, "education": 17, "marital": 6, "race": 9, "work_class": 10,
    "country": 83, "occupation": 50, "salary": 50,
}  # fmt: skip

TREES: dict[str, Any] = {
    "gender": {"any": [0, 1]},
    "marital": {"any": {"single": [0, 1], "married": [2, 3], "past": [4, 5]}},
    "race": {"any": list(range(9))},
    "work_class": {
        "any": {
            "employee": {"private": [0, 1, 2], "state": [3, 4, 5]},
            "own": {"firm": [6, 7], "none": [8, 9]},
        }
    },
    "country": {
        "any": {f"region {first // 14}": [*range(first, min(first + 14, 83))]
                for first in range(0, 83, 14)}
    },
}  # fmt: skip

_SCHOOLING = (1, 1, 2, 2, 1, 1, 2, 2, 1, 30, 8, 14, 4, 20, 8, 2, 1)
_CLASSES = (1,) * 50


def census(rows: int, *, seed: int) -> pa.Table:
    """All nine columns."""
    random = np.random.default_rng(seed)
    years = np.minimum(random.gamma(3.0, 9.0, rows), 77.0)
    standing = random.normal(size=rows)
    gender = random.integers(0, 2, rows)
    race = _skewed(random, 9, rows)
    education = _cut(standing + 0.5 * random.normal(size=rows) - 0.01 * years, _SCHOOLING)
    marital = np.clip((years / 16 + random.normal(0, 0.9, rows)).astype(np.int64), 0, 5)
    work = np.clip(
        (4.5 + 1.5 * standing + 0.02 * years + random.normal(0, 1.5, rows)).astype(np.int64), 0, 9
    )
    country = (race * 9 + _skewed(random, 11, rows) * (random.random(rows) < 0.4)) % 83
    trade = standing + 0.9 * gender + 0.15 * education + 0.7 * random.normal(size=rows)
    pay = standing + 0.02 * years - 0.4 * gender + 0.1 * education + 0.8 * random.normal(size=rows)
    columns = (
        years.astype(np.int64) + 15, gender, education, marital, race, work, country,
        _cut(trade, _CLASSES), _cut(pay, _CLASSES),
    )  # fmt: skip
    return pa.table({name: pa.array(column) for name, column in zip(SIZES, columns, strict=True)})


def _skewed(
    random: np.random.Generator, size: int, rows: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    weights = 1 / np.arange(1, size + 1) ** 1.5
    return random.choice(size, rows, p=weights / weights.sum())


def _cut(
    values: np.ndarray[Any, np.dtype[np.float64]], shares: Sequence[float]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Classes by rank, each with its share of the rows."""
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    ends = np.cumsum(shares) / sum(shares) * len(values)
    return np.searchsorted(ends[:-1], ranks, side="right").astype(np.int64)
