"""Generated persons with the shape of a household survey. They are not real.

Age, schooling and income hang together, almost half of the persons earn nothing, and incomes are
skewed to the right, as in the real table: that is what tells Direct from Refinement. Shares and
strengths are invented. These rows show that the programs work, not that the paper is right.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_SCHOOLING = np.array([0, 0, 3, 5, 7, 7, 8, 10, 12, 12, 12, 14, 15, 17])


def persons(rows: int, *, seed: int) -> pa.Table:
    """Age, income, household size, years of education, household income, sex."""
    random = np.random.default_rng(seed)
    age = np.minimum(random.gamma(2.2, 15.0, rows), 98).astype(np.int64)
    size = np.clip(1 + random.poisson(3.4 - 0.02 * age), 1, 23)
    schooling = np.minimum(random.choice(_SCHOOLING, rows), np.maximum(age - 5, 0))
    sex = random.integers(1, 3, rows)
    works = random.random(rows) < np.where(age < 16, 0.02, 0.72 - 0.12 * (sex == 2))
    wage = np.exp(random.normal(6.2 + 0.08 * schooling, 0.9))
    income = _pesos(np.where(works, wage, 0.0))
    others = np.exp(random.normal(6.8 + 0.1 * np.minimum(size, 8), 0.9))
    household = income + _pesos(np.where(size > 1, others, 0.0))
    columns = {
        "age": age,
        "income_total": income,
        "household_size": size,
        "years_education": schooling,
        "household_income": household,
        "sex": sex,
    }
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _pesos(
    amounts: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """People name round sums: tens below a thousand, hundreds above."""
    unit = np.where(amounts < 1_000, 10, 100)
    return np.minimum((amounts / unit).round() * unit, 460_000).astype(np.int64)
