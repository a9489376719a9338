"""A perturbed table: every row stands for itself, and its own value is not there to be counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.errors import SchemaError
from sfumato.forms.evidence import (
    codes_of,
    other_columns,
    other_rows,
    sensitive_column,
)
from sfumato.forms.perturbed.release import PerturbedTable


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """The rows of a perturbed table."""

    release: PerturbedTable

    @property
    def rows(self) -> int:
        """Published rows."""
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        """Every row is alone."""
        return np.ones(self.rows, np.int64)

    def flaws(self) -> Iterator[str]:
        """Tables that are not as stated, and values out of their domain."""
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from other_columns(table.column_names, stated, "the table")
        yield from other_rows(self.rows, manifest)
        promised = {stated.get("on") for stated in manifest.promise}
        for name, domain in self.release.domains.items():
            if name not in promised:
                yield f"nothing is promised of {name!r}"
            yield from other_columns(domain.column_names, [name], f"the domain of {name!r}")
            if name in domain.column_names and name in table.column_names:
                yield from self._strange_values(name)

    def _strange_values(self, name: str) -> Iterator[str]:
        domain, shown = (held[name] for held in (self.release.domains[name], self.release.table))
        if len(pc.unique(domain)) < len(domain):
            yield f"the domain of {name!r} names a value twice"
        _, codes = codes_of(sensitive_column(self.release.manifest, name), domain)
        if np.any(np.diff(codes.astype(np.int64)) <= 0):
            yield f"the domain of {name!r} is not in its order"
        if not pc.all(pc.is_in(shown, domain.combine_chunks())).as_py():
            yield f"{name!r} shows a value that its domain lacks"

    def histograms(self, on: str) -> Histograms:
        """There are none."""
        raise SchemaError(
            f"{on!r} is perturbed: rows do not show their own values, so they cannot be counted",
            column=on,
        )

    def name(self, group: int) -> str:
        """By its place."""
        return f"row {group + 1:,}"
