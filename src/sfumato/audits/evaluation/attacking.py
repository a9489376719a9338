"""What somebody reaches who thinks: the quickest of the attacks, made without being asked for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Stages
from sfumato.audits.audit import Audit
from sfumato.audits.audit.quick import quick
from sfumato.audits.defaults import QUICK_ROWS
from sfumato.core.microdata import Microdata
from sfumato.engines.parts import TableParts
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.forms.registry import Release


def attacked(release: Release, table: TableParts, seed: int | None, tell: Stages) -> Audit | None:
    """What the quickest attack finds; None where there is nothing to guess, or too much."""
    if table.n_rows > QUICK_ROWS:
        return None
    tell("attacking", 0.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SfumatoWarning)
            return quick(release, _whole(table), seed=seed)
    except SfumatoError:
        return None  # too few people, boxes made for reading


def stated(found: Audit) -> dict[str, Any]:
    """The same for the same seed, however long it took."""
    outcomes = {one.name: one.outcome.attacker.right for one in found.findings}
    said = {"bound": found.bound, "promised": found.promised, "baseline": found.baseline}
    return {"right": outcomes, **said, "summary": found.summary}


def _whole(table: TableParts) -> Microdata:
    """All rows at once, without the columns that no attacker is interested in."""
    parts = list(table.parts())
    codes = {name: np.concatenate([part.codes[name] for part in parts]) for name in parts[0].codes}
    nothing = pa.table({"": pa.nulls(table.n_rows)}).select([])
    return Microdata(table.schema, table.n_rows, parts[0].attributes, codes, nothing)
