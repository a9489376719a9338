"""Small tables to join."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.joined import Joined


def microdata_with_ids(columns: dict[str, Any], *, quasi: list[str], **schema: Any) -> sf.Microdata:
    """A table whose column ``id`` is kept."""
    described = sf.Schema(identifiers=["id"], quasi=quasi, **schema)
    return sf.Microdata.from_arrow(pa.table(columns), described, id="id")


@st.composite
def joined_tables(draw: st.DrawFn) -> Joined:
    """People on a small grid with an unordered colour; some are of the microdata."""
    n = draw(st.integers(1, 40))
    m = draw(st.integers(0, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    ends = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    random = np.random.default_rng(seed)

    def rows(count: int, first: int) -> dict[str, Any]:
        return {
            "id": np.arange(first, first + count),
            "x": random.integers(0, ends[0], count),
            "y": random.integers(0, ends[1], count),
            "colour": pa.array(random.choice(["red", "green", "blue"], count), pa.string()),
        }

    own = rows(n, 0)
    diseases = pa.array(random.choice(["flu", "cold", "cough"], n), pa.string())
    table = microdata_with_ids(
        {**own, "disease": diseases}, quasi=["x", "y", "colour"], sensitive="disease"
    )
    return sf.join(table, pa.table(rows(m, draw(st.integers(0, n)))))
