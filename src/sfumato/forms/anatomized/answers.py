"""Answers from QIT and ST; ``answers.grouped`` has the mathematics.

In each group the QIT shows exactly which rows satisfy the conditions on quasi-identifiers, and
every ST how many have a wanted sensitive value. Insensitive attributes stand in the QIT and count
like quasi-identifiers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.answers.encoded import encoded_columns
from sfumato.answers.grouped import GroupedTables
from sfumato.answers.kernels import tally
from sfumato.answers.rows import Rows
from sfumato.core.arrays import Codes, Ints
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.errors import DataError
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables
from sfumato.forms.catalogs import catalog_of


def grouped_tables(release: AnatomizedTables) -> GroupedTables:
    """Prepare a release for questions; only its tables and its manifest are read."""
    announce(tally)
    numbers, groups = _numbered(release.qit[GROUP].to_numpy())
    sizes = np.bincount(groups)
    shown = release.qit.drop_columns([GROUP])
    encoded = encoded_columns(shown)
    qit = Rows.of(encoded.columns, groups, len(sizes))
    sts = (_of_st(name, st, numbers) for name, st in release.sts.items())
    fields = [*shown.schema, *(st.schema.field(name) for name, st in release.sts.items())]
    catalog = catalog_of(release.manifest, fields).refusing(encoded.refusals)
    return GroupedTables(catalog, sizes, (qit, *sts), release.manifest.suppressed)


def _numbered(groups: Ints) -> tuple[Ints, Codes]:
    """The different group numbers, and which of them each row has; rows of a group often follow."""
    changes = np.diff(groups)
    if (changes >= 0).all():
        heads = np.append(True, changes > 0)[: len(groups)]
        return groups[heads], (np.cumsum(heads) - 1).astype(np.int32)
    numbers, places = np.unique(groups, return_inverse=True)
    return numbers, places.astype(np.int32)


def _of_st(name: str, st: pa.Table, numbers: Ints) -> Rows:
    known, places = _numbered(st[GROUP].to_numpy())
    groups = np.searchsorted(numbers, known)
    if not np.array_equal(numbers[np.minimum(groups, len(numbers) - 1)], known):
        raise DataError(f"the ST of {name!r} has groups that the QIT lacks", source=name)
    columns = [encode(name, st.column(name))]
    return Rows.of(columns, groups.astype(np.int32)[places], len(numbers), st[COUNT].to_numpy())
