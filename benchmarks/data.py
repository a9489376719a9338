"""The tables that are measured: real ones where a data folder is named, stand-ins where not.

``SFUMATO_DATA`` (or ``--data``) names a folder with acs2018_workers.parquet and adult.parquet.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

CENSUS_QUASI = ("age", "gender", "education", "relationship", "race", "work_class", "country")
CENSUS_SIZES = (80, 2, 24, 18, 5, 8, 83)
ADULT_NUMBERS = ("age", "education_num")
ADULT_CATEGORIES = {
    "workclass": 7,
    "marital_status": 7,
    "occupation": 14,
    "race": 5,
    "sex": 2,
    "native_country": 41,
}
ADULT_QUASI = (
    "age",
    "workclass",
    "education_num",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)


def census(folder: Path | None, rows: int) -> tuple[pa.Table, str]:
    """The first rows of the census workers, seven quasi-identifiers and the occupation."""
    path = folder / "acs2018_workers.parquet" if folder else None
    if path is not None and path.is_file():
        table = pq.read_table(path, columns=[*CENSUS_QUASI, "occupation"])
        return table.slice(0, rows).replace_schema_metadata(None), "acs2018_workers"
    return skewed_codes(rows), "generated stand-in"


def adult(folder: Path | None) -> tuple[pa.Table, str]:
    """Adult: the 30,162 complete training rows."""
    path = folder / "adult.parquet" if folder else None
    if path is not None and path.is_file():
        table = pq.read_table(path)
        train = table.filter(pc.equal(table["split"].cast(pa.string()), "train"))
        return train.drop_null().select(ADULT_QUASI), "adult"
    generator = np.random.default_rng(1)
    columns: dict[str, pa.Array] = {
        "age": pa.array(np.clip(generator.gamma(9, 4.3, 30_162), 17, 90).astype(np.int16)),
        "education_num": pa.array(generator.binomial(15, 0.62, 30_162) + 1),
    }
    for name, size in ADULT_CATEGORIES.items():
        codes = skewed(generator, size, 30_162)
        columns[name] = pa.array([f"{name}-{code:02}" for code in codes])
    return pa.table({name: columns[name] for name in ADULT_QUASI}), "generated stand-in"


def skewed_codes(rows: int) -> pa.Table:
    """Independent skewed columns with the census domain sizes, occupation with 50 values."""
    generator = np.random.default_rng(0)
    columns = {
        name: pa.array(skewed(generator, size, rows))
        for name, size in zip(CENSUS_QUASI, CENSUS_SIZES, strict=True)
    }
    return pa.table({**columns, "occupation": pa.array(generator.integers(0, 50, rows, np.int16))})


def uniform_codes(rows: int, attributes: int = 5, size: int = 1000) -> pa.Table:
    """Hardly any two rows alike: the worst case for an algorithm that merges equal rows."""
    generator = np.random.default_rng(rows)
    return pa.table(
        {f"a{j}": pa.array(generator.integers(0, size, rows, np.int16)) for j in range(attributes)}
    )


def skewed(
    generator: np.random.Generator, size: int, rows: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    """Codes whose frequencies fall like 1 / rank."""
    weights = 1 / np.arange(1, size + 1)
    return generator.choice(size, rows, p=weights / weights.sum()).astype(np.int16)
