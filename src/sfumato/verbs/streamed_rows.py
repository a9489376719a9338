"""The fingerprint of rows that are never in memory together: summed up while they pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sfumato.algorithms.anatomize.stream import Block, DividedFile
from sfumato.core.attribute import Attribute
from sfumato.core.fingerprint import RowSum, row_hashes, row_sum, stated
from sfumato.core.schema import Schema
from sfumato.io.owner_state import OwnerState, owner_key


class StreamedRows:
    """Rows of a divided file; nothing is summed up where the owner's state cannot be used."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.total = RowSum()
        self.key = owner_key()

    def watching(self, divided: DividedFile) -> DividedFile:
        """The same file, whose blocks are summed up as they are made."""
        if self.key is None:
            return divided
        return replace(divided, blocks=self._passing(divided.blocks, divided.sensitive, self.key))

    def fingerprints(self, state: OwnerState) -> Sequence[str]:
        """The fingerprint of all rows, once all have passed."""
        return [stated(self.total, self.schema, state.key())]

    def _passing(
        self, blocks: Iterator[Block], sensitive: Attribute, key: bytes
    ) -> Iterator[Block]:
        for block in blocks:
            columns = {name: block.rows.column(name) for name in self.schema.quasi}
            columns[sensitive.name] = sensitive.decode(block.codes)
            self.total += row_sum(row_hashes(columns, key), key)
            yield block
