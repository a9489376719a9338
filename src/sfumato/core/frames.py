"""Tables of Arrow as frames of pandas and polars, installed only where somebody wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_EXTRA = "frames"


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """The table as a frame of pandas."""
    try:
        import pandas  # noqa: F401  # PyArrow imports it itself, and its error names no way out
    except ImportError:
        raise MissingExtra("to_pandas()", _EXTRA) from None
    return table.to_pandas()


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """The table as a frame of polars."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("to_polars()", _EXTRA) from None
    return polars.DataFrame(table)
