"""A model tied to the columns of one table: what is checked, on which attribute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Counts, Flags, Floats, Ints
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.schema import Schema
from sfumato.errors import Infeasible, SchemaError
from sfumato.models._rules import rule_matrix
from sfumato.models.base import BuiltIn, Model, parts


@dataclass(frozen=True, slots=True)
class Requirement:
    """One single model on one sensitive attribute (None: group sizes are all it needs)."""

    model: Model
    attribute: str | None

    def histograms(
        self, table: Microdata, partition: Partition, rows: Ints | None = None
    ) -> Histograms:
        """What the model may see of a partition of the table, or of some of its ``rows``: these
        are compared with the whole table all the same.
        """
        if self.attribute is None:
            return Histograms.of_sizes(partition.sizes)
        attribute, codes = table.attributes[self.attribute], table.codes[self.attribute]
        if rows is None:
            return Histograms.of_groups(attribute, codes, partition.groups, partition.n_groups)
        seen = Histograms.of_groups(attribute, codes[rows], partition.groups, partition.n_groups)
        return replace(seen, whole=np.bincount(codes, minlength=attribute.size))

    def __str__(self) -> str:
        """The model, and the attribute it is about."""
        return f"{self.model} on {self.attribute}" if self.attribute else str(self.model)


class CompiledRules(NamedTuple):
    """Requirements in the form the kernels read (see _rules).

    The histograms of all sensitive attributes stand one after another in one array; ``offsets``
    says where each starts.
    """

    rules: Floats
    whole_counts: Counts
    offsets: dict[str, int]
    least: int


def requirements(model: Model, schema: Schema) -> tuple[Requirement, ...]:
    """Every single model with every attribute it is about."""
    return tuple(
        Requirement(part, attribute)
        for part in parts(model)
        for attribute in _attributes(part, schema)
    )


def require_feasible(needs: tuple[Requirement, ...], table: Microdata) -> None:
    """Raise Infeasible unless the whole table, as one group, passes.

    All built-in models are kept when groups are merged, so this is exact for them.
    """
    everyone = Partition.of(np.zeros(table.n_rows, np.int32))
    for need in needs:
        whole = need.histograms(table, everyone)
        if not need.model.passes(whole)[0]:
            if isinstance(need.model, BuiltIn):
                raise need.model.refusal(whole)
            raise Infeasible(f"the whole table does not pass {need}", model=need.model)


def passing(
    needs: tuple[Requirement, ...],
    table: Microdata,
    partition: Partition,
    rows: Ints | None = None,
) -> Flags:
    """Per group, whether it meets every requirement; of some ``rows``, see histograms."""
    verdict = np.ones(partition.n_groups, np.bool_)
    for need in needs:
        verdict &= need.model.passes(need.histograms(table, partition, rows))
    return verdict


def compile_rules(needs: tuple[Requirement, ...], table: Microdata) -> CompiledRules | None:
    """The requirements as kernel rules, or None when one of them has no compiled form."""
    everyone = Partition.of(np.zeros(table.n_rows, np.int32))
    offsets: dict[str, int] = {}
    whole: list[Counts] = []
    rules = []
    least = 1
    for need in needs:
        seen = need.histograms(table, everyone)
        rule = need.model.rule(seen) if isinstance(need.model, BuiltIn) else None
        if rule is None:
            return None
        if need.attribute is not None and need.attribute not in offsets:
            offsets[need.attribute] = sum(len(counts) for counts in whole)
            whole.append(seen.whole)
        first = offsets[need.attribute] if need.attribute is not None else 0
        rules.append((rule, first, first + len(seen.whole)))
        least = max(least, rule.least)
    counts = np.concatenate(whole) if whole else np.zeros(0, np.int64)
    return CompiledRules(rule_matrix(rules), counts, offsets, least)


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
