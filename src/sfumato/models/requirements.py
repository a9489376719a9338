"""A model tied to the columns of one table: what is checked, on which attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.core.arrays import Counts, Ints
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Schema
from sfumato.errors import SchemaError
from sfumato.models.base import Model, as_model, parts


@dataclass(frozen=True, slots=True)
class Requirement:
    """One single model on one sensitive attribute (None: group sizes are all it needs)."""

    model: Model
    attribute: str | None

    def histograms(
        self,
        table: Microdata,
        partition: Partition,
        rows: Ints | None = None,
        weights: Counts | None = None,
    ) -> Histograms:
        """What the model may see of a partition of the table, or of some of its ``rows``.

        With ``weights`` each of these stands for so many.
        """
        if self.attribute is None:
            return Histograms.of_sizes(partition.loads(weights))
        attribute, codes = table.attributes[self.attribute], table.codes[self.attribute]
        some = codes if rows is None else codes[rows]
        return Histograms.of_groups(attribute, some, partition.groups, partition.n_groups, weights)

    def __str__(self) -> str:
        """The model, and the attribute it is about."""
        return f"{self.model} on {self.attribute}" if self.attribute else str(self.model)


def requirements(model: Model | Sequence[Model], schema: Schema) -> tuple[Requirement, ...]:
    """Every single model with every attribute it is about."""
    return tuple(
        Requirement(part, attribute)
        for part in parts(as_model(model))
        for attribute in _attributes(part, schema)
    )


def _attributes(model: Model, schema: Schema) -> tuple[str | None, ...]:
    if not getattr(model, "needs_sensitive", bool(schema.sensitive)):
        return (None,)
    on = getattr(model, "on", None)
    if on is not None:
        if on not in schema.sensitive:
            raise SchemaError(f"{model} is about {on!r}, which is not sensitive", column=on)
        return (on,)
    if not schema.sensitive:
        raise SchemaError(f"{model} needs a sensitive column; the schema names none")
    return schema.sensitive
