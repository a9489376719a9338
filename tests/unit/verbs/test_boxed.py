"""Boxes written group by group, within so much memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import OutOfMemory
from sfumato.verbs.boxed import Boxed, BoxedFiles
from sfumato.verbs.grouping import Grouped


def groups() -> list[Grouped]:
    lines = pa.table({"age_min": [1, 2], "age_max": [3, 4]})
    rows = pa.table({"note": ["x", "y"]})
    return [Grouped(lines, np.array([1, 1]), rows, np.zeros((0, 2), np.int64), {})] * 5


def written(memory: int) -> int:
    files = BoxedFiles(Boxed("ranges", (), frozenset()), "parquet", memory)
    return len(list(files._blocks(iter(groups()))))


def test_lines_that_do_not_fit_say_how_many_bytes_would_do() -> None:
    """To the byte, though those behind the first that do not fit are not kept."""
    enough = 4 * sum(one.lines.nbytes for one in groups())
    assert written(enough) == 5
    for little in (1, enough // 3, enough - 4):
        with pytest.raises(OutOfMemory, match=f"allow {enough:,} bytes, or larger groups"):
            written(little)
