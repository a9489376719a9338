"""The eight attributes of Adult that the Mondrian paper uses, and a generated stand-in.

The paper imposes "an intuitive ordering on each attribute" without printing it. These are ours:
education by years, marital status along a life, countries by region, occupations from office to
manual work, employers from public to private. The number after a value is its count among the
30,162 complete training rows of the real table; the stand-in draws every attribute from these
counts, independently of the others, and age from a gamma distribution.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

ROWS = 30_162

_COUNTS: dict[str, dict[str, int]] = {
    "workclass": {
        "Federal-gov": 943, "State-gov": 1279, "Local-gov": 2067, "Private": 22286,
        "Self-emp-inc": 1074, "Self-emp-not-inc": 2499, "Without-pay": 14, "Never-worked": 0,
    },
    "education": {
        "Preschool": 45, "1st-4th": 151, "5th-6th": 288, "7th-8th": 557, "9th": 455, "10th": 820,
        "11th": 1048, "12th": 377, "HS-grad": 9840, "Some-college": 6678, "Assoc-voc": 1307,
        "Assoc-acdm": 1008, "Bachelors": 5044, "Masters": 1627, "Prof-school": 542,
        "Doctorate": 375,
    },
    "marital_status": {
        "Never-married": 9726, "Married-civ-spouse": 14065, "Married-AF-spouse": 21,
        "Married-spouse-absent": 370, "Separated": 939, "Divorced": 4214, "Widowed": 827,
    },
    "occupation": {
        "Exec-managerial": 3992, "Prof-specialty": 4038, "Tech-support": 912, "Adm-clerical": 3721,
        "Sales": 3584, "Protective-serv": 644, "Armed-Forces": 9, "Craft-repair": 4030,
        "Machine-op-inspct": 1966, "Transport-moving": 1572, "Handlers-cleaners": 1350,
        "Farming-fishing": 989, "Other-service": 3212, "Priv-house-serv": 143,
    },
    "race": {
        "White": 25933, "Black": 2817, "Asian-Pac-Islander": 895, "Amer-Indian-Eskimo": 286,
        "Other": 231,
    },
    "sex": {"Female": 9782, "Male": 20380},
    "native_country": {
        # North America, Central America, the Caribbean, South America
        "United-States": 27504, "Outlying-US(Guam-USVI-etc)": 14, "Puerto-Rico": 109,
        "Canada": 107, "Mexico": 610, "Guatemala": 63, "Honduras": 12, "El-Salvador": 100,
        "Nicaragua": 33, "Cuba": 92, "Jamaica": 80, "Haiti": 42, "Dominican-Republic": 67,
        "Trinadad&Tobago": 18, "Columbia": 56, "Ecuador": 27, "Peru": 30,
        # Europe from west to east
        "Ireland": 24, "Scotland": 11, "England": 86, "Portugal": 34, "France": 27,
        "Holand-Netherlands": 1, "Germany": 128, "Italy": 68, "Poland": 56, "Hungary": 13,
        "Yugoslavia": 16, "Greece": 29,
        # Asia from west to east; "South" is South Korea, "Hong" is Hong Kong
        "Iran": 42, "India": 100, "Thailand": 17, "Laos": 17, "Cambodia": 18, "Vietnam": 64,
        "China": 68, "Hong": 19, "Taiwan": 42, "South": 71, "Japan": 59, "Philippines": 188,
    },
}  # fmt: skip

ATTRIBUTES = ("age", *_COUNTS)
ORDERS: dict[str, tuple[str, ...]] = {name: tuple(counts) for name, counts in _COUNTS.items()}


def stand_in(*, seed: int, rows: int = ROWS) -> pa.Table:
    """Generated rows with Adult's domains and shares; not real persons."""
    random = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {"age": pa.array(_ages(random, rows))}
    for name, counts in _COUNTS.items():
        shares = np.array(list(counts.values())) / sum(counts.values())
        drawn = random.choice(len(shares), size=rows, p=shares)
        columns[name] = pa.array(ORDERS[name]).take(pa.array(drawn))
    return pa.table(columns)


def _ages(random: np.random.Generator, rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """17 to 90, with Adult's mean (38.4) and standard deviation (13.1)."""
    years = random.gamma(2.67, 8.02, rows)
    return 17 + np.minimum(years, 73).astype(np.int64)
