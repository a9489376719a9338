"""Sets in CSV files of a release, which are texts there, read back as lists.

All that looks at a release in memory (answers, audits, writing it again) then sees the same columns
whatever the files were, and nothing else has to know how a set is written.
"""

from __future__ import annotations

import re

import pyarrow as pa

from sfumato.io.set_texts import sets_of
from sfumato.releases.manifest import Manifest

_LIST = re.compile(r"list<\w+: (.+)>")


def with_sets(table: pa.Table, manifest: Manifest) -> pa.Table:
    """The table with lists where release.json states lists and the files have texts."""
    stated = dict(manifest.types)
    for place, field in enumerate(table.schema):
        listed = _LIST.fullmatch(stated.get(field.name, ""))
        if listed is not None and pa.types.is_string(field.type):
            lists = sets_of(field.name, table.column(place).combine_chunks())
            table = table.set_column(place, field.name, _typed(lists, listed[1]))
    return table


def _typed(lists: pa.ListArray, stated: str) -> pa.ListArray:
    """Items in their stated type; texts where it has no short name or they do not fit it."""
    try:
        return lists.cast(pa.list_(pa.type_for_alias(stated)))
    except ValueError:
        return lists
