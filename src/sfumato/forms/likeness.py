"""How alike people of a group are, read off a release that shows them exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.core.schema import Role
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest, encoded
from sfumato.forms.registry import FORMS
from sfumato.metrics.likeness import difference_in_groups

_ROWS = 200_000  # groups are in a random order, so the first ones are as good as all


def differences(folder: Path, manifest: Manifest) -> dict[str, float]:
    """The figure of metrics/likeness.py of every quasi-identifier that is not constant.

    Nothing in forms without group numbers; of many rows those of the first groups are taken.
    """
    form = FORMS[manifest.kind]
    if form.group_column is None:
        return {}
    files = Files(folder, manifest)
    shown = pa.concat_tables(_first(files.pieces(form.release.stem)))
    numbers = shown.column(form.group_column).to_numpy()
    if shown.num_rows < manifest.rows:  # the last group may go on
        shown = shown.slice(0, int(np.searchsorted(numbers, numbers[-1])))
        numbers = numbers[: shown.num_rows]
    groups = (numbers - numbers[:1]).astype(np.int32)
    found = {
        column.name: difference_in_groups(*encoded(column, shown.column(column.name)), groups)
        for column in manifest.of_role(Role.QUASI)
    }
    return {name: value for name, value in found.items() if value is not None}


def _first(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    rows = 0
    for piece in pieces:
        yield piece
        rows += piece.num_rows
        if rows >= _ROWS:
            return
