"""The tables the experiments run on.

Synthetic tables have the parameters of the Mondrian paper's Figure 9. It gives the standard
deviation sigma "with respect to standard normal" and does not say how wide the discretized domain
is. Here sigma is a share of the domain: an attribute with c values is normal with mean mu and
standard deviation sigma * c, cut into c cells of width 1 around 0, 1, ..., c - 1. The domain is the
natural unit since mu too is given in it (3.5 is the middle of 0 to 7), and the only printed numbers
speak for it: Figure 17, errors of the strict algorithm for c = 50, mu = 25, sigma = .2. Computed
again with sigma in units of the whole domain (10 cells), means and standard deviations are off by
17 % on average over 30 seeds; with half the domain as the unit (5 cells) by 27 %, with a sixth of
it, minus to plus three sigma (1.7 cells), by 104 %. A free fit would say 8 cells (9 %), which
stands for no reading of sigma that we know of.

What falls outside the domain is drawn again. (Clamped to the ends, it would pile up there, and a
large sigma would mean a high skew, which contradicts section 6.2.) The attributes are independent.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.errors import DataError
from sfumato_experiments import adult as adult_domains

DATA_VARIABLE = "SFUMATO_DATA"


def discrete_uniform(rows: int, attributes: int, cardinality: int, *, seed: int) -> sf.Microdata:
    """Every value of every attribute equally likely."""
    drawn = np.random.default_rng(seed).integers(0, cardinality, (rows, attributes))
    return _microdata(drawn, cardinality)


def discrete_skewed(
    rows: int, attributes: int, cardinality: int, *, mu: float, sigma: float, seed: int
) -> sf.Microdata:
    """Normal values around mu cut into cells of equal width; the smaller sigma, the more skewed."""
    random = np.random.default_rng(seed)
    drawn = np.full((rows, attributes), -1.0)
    while (outside := (drawn < 0) | (drawn >= cardinality)).any():
        drawn[outside] = np.floor(random.normal(mu + 0.5, sigma * cardinality, outside.sum()))
    return _microdata(drawn.astype(np.int64), cardinality)


def adult(folder: Path | None) -> tuple[sf.Microdata, str]:
    """The Adult table (complete training rows), or a stand-in, and a line that says which.

    The folder may also be named by the environment variable SFUMATO_DATA.
    """
    named = folder or os.environ.get(DATA_VARIABLE)
    if not named:
        rows = adult_domains.stand_in(seed=0)
        said = (
            f"STAND-IN for Adult: {rows.num_rows:,} generated rows with its domains and shares, "
            f"attributes independent. For the real table name its folder: --data or {DATA_VARIABLE}"
        )
    else:
        rows = _read_adult(Path(named) / "adult.parquet")
        said = f"Adult (UCI), complete training rows: {rows.num_rows:,}"
    schema = sf.Schema(quasi=adult_domains.ATTRIBUTES, orders=adult_domains.ORDERS)
    return sf.Microdata.from_arrow(rows, schema), said


def _microdata(values: np.ndarray[tuple[int, int], np.dtype[np.int64]], size: int) -> sf.Microdata:
    """A table whose domains are 0 to size - 1, even where the sample missed a value."""
    names = [f"q{place + 1}" for place in range(values.shape[1])]
    rows = pa.table(dict(zip(names, values.T.copy(), strict=True)))
    return sf.Microdata.from_arrow(
        rows, sf.Schema(quasi=names, orders={name: range(size) for name in names})
    )


def _read_adult(path: Path) -> pa.Table:
    if not path.is_file():
        raise DataError(
            f"no file {path}; name the folder that holds adult.parquet, or none for a stand-in",
            source=str(path),
        )
    rows = pq.read_table(path)
    if "split" in rows.column_names:
        rows = rows.filter(pa.compute.equal(rows["split"], "train"))
    return rows.drop_null().select(list(adult_domains.ATTRIBUTES))
